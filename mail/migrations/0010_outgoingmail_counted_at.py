"""Whether a mail's budget was spent, which hosts of 2.2 tell from its attempts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mail", "0009_move_heartbeat")]
    operations = [
        migrations.AddField(
            "outgoingmail", "counted_at", models.DateTimeField(null=True, editable=False)
        )
    ]
