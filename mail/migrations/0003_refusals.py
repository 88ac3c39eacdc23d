"""A mail may be refused for good."""

from django.db import migrations, models

STATES = {
    "requested": "requested",
    "ready": "ready to send",
    "sent": "sent",
    "dropped": "dropped",
    "failed": "given up",
    "refused": "refused for good",
}


class Migration(migrations.Migration):
    dependencies = [("mail", "0002_notices")]
    operations = [
        migrations.AlterField(
            "outgoingmail",
            "state",
            models.CharField(choices=list(STATES.items()), default="requested", max_length=10),
        ),
    ]
