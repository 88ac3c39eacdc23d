"""The mails of an address are sought by the back office and by an erasure: strangers can ask for
more of them than anybody may read through."""

from django.db import migrations, models

from audit.online import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("mail", "0003_mail_of_link")]
    operations = [
        AddIndexOnline(
            "outgoingmail",
            models.Index(
                fields=["email"], name="mail_of_address", opclasses=["varchar_pattern_ops"]
            ),
        )
    ]
