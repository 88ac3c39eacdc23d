"""The mails that wait for one budget are put off together."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mail", "0006_delete_mailtally")]
    operations = [
        migrations.AddField(
            "outgoingmail",
            "budget_key",
            models.CharField(max_length=64, db_default="", editable=False),
        )
    ]
