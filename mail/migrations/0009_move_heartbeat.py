"""The heartbeat moves to the app `worker`. Its table stays as it is."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("mail", "0008_mail_of_budget"), ("worker", "0001_initial")]
    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("Heartbeat")])
    ]
