"""The mails that wait for one budget are found without reading all that wait."""

from django.db import migrations, models

from audit.online import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("mail", "0007_outgoingmail_budget_key")]
    operations = [
        AddIndexOnline(
            "outgoingmail",
            models.Index(
                fields=["budget_key"],
                condition=models.Q(state__in=["requested", "ready"]),
                name="mail_of_budget",
            ),
        )
    ]
