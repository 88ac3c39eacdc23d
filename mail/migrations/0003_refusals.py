"""What is due is found by one index, in whichever state."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mail", "0002_notices")]
    operations = [
        migrations.AddIndex(
            "outgoingmail",
            models.Index(
                fields=["due_at"],
                condition=models.Q(state__in=["requested", "ready"]),
                name="mail_due",
            ),
        ),
        migrations.RemoveIndex("outgoingmail", "mail_waiting"),
    ]
