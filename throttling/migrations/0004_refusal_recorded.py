from django.db import migrations, models


class Migration(migrations.Migration):
    """Renames the field in the code; the column stays, so nothing is done in the database."""

    dependencies = [("throttling", "0003_network_limit")]

    operations = [
        migrations.AlterField(
            "lockout",
            "met",
            models.BooleanField(
                db_column="met", default=False, help_text="In the audit log, during this lockout."
            ),
        ),
        migrations.RenameField("lockout", "met", "refusal_recorded"),
    ]
