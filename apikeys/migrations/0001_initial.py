"""API keys.

PostgreSQL itself cascades: while hosts are upgraded, those of 3.0 delete companies and users, and
don't know this table.
"""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import accounts.validators

CASCADE = """
ALTER TABLE accounts_apikey
    ADD FOREIGN KEY (account_id) REFERENCES accounts_account ON DELETE CASCADE,
    ADD FOREIGN KEY (created_by_id) REFERENCES accounts_user ON DELETE SET NULL;
"""


def cascade(apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute(CASCADE, params=None)


class Migration(migrations.Migration):
    initial = True
    dependencies = [("accounts", "0010_trusts_emails")]
    operations = [
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=60, validators=[accounts.validators.validate_name])),
                ("scopes", models.JSONField()),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("last_four", models.CharField(max_length=4)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, verbose_name="made")),
                ("expires_at", models.DateTimeField(verbose_name="expires")),
                ("last_used_at", models.DateTimeField(null=True, verbose_name="last used")),
                ("revoked_at", models.DateTimeField(null=True, verbose_name="revoked")),
                ("account", models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="api_keys", to="accounts.account", verbose_name="company")),
                ("created_by", models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL, verbose_name="made by")),
            ],
            options={"verbose_name": "API key", "db_table": "accounts_apikey", "ordering": ["-created_at", "id"]},
        ),
        migrations.RunPython(cascade, migrations.RunPython.noop),
    ]
