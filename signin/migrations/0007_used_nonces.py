"""Used nonces move to the app `base`. Their table stays as it is."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("signin", "0006_device_network"), ("base", "0001_initial")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("UsedChallenge")]
        )
    ]
