"""Used nonces move here from the app `signin`. Their table stays as it is."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("signin", "0006_device_network")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="UsedNonce",
                    fields=[
                        ("nonce", models.CharField(max_length=32, primary_key=True, serialize=False)),
                        ("used_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                    ],
                    options={"db_table": "signin_usedchallenge"},
                ),
            ]
        )
    ]
