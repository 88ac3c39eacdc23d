"""Mails that tell of what was done have no link, but a context."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mail", "0001_initial")]
    operations = [
        migrations.AddField(
            "outgoingmail",
            "context",
            models.JSONField(null=True, editable=False, db_default=None),
        )
    ]
