"""The heartbeat moves here from the app `mail`. Its table stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mail", "0008_mail_of_budget")]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Heartbeat",
                    fields=[
                        ("name", models.CharField(max_length=10, primary_key=True, serialize=False)),
                        ("at", models.DateTimeField()),
                    ],
                    options={"db_table": "mail_heartbeat"},
                ),
            ]
        )
    ]
