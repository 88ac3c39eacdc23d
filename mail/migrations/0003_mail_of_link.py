"""What has become of an invitation's mail is asked for by the link."""

from django.db import migrations, models

from audit.online import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("mail", "0002_notices")]
    operations = [
        AddIndexOnline(
            "outgoingmail", models.Index(fields=["link_id"], name="mail_of_link")
        )
    ]
