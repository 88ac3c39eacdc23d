"""What has become of an invitation's mail is asked for by the link."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mail", "0002_notices")]
    operations = [
        migrations.AddIndex(
            "outgoingmail", models.Index(fields=["link_id"], name="mail_of_link")
        )
    ]
