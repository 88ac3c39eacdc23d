"""The heartbeat moves to the app `worker`; its table stays as it is. And a mail tells when its budget
was counted, which hosts of 2.2 tell from its attempts."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mail", "0008_mail_of_budget"), ("worker", "0001_initial")]
    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("Heartbeat")]),
        migrations.AddField(
            "outgoingmail", "counted_at", models.DateTimeField(null=True, editable=False)
        ),
    ]
