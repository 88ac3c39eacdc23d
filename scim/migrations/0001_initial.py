"""What directories have said about users.

PostgreSQL itself cascades: while hosts are upgraded, those of 3.0 delete companies and users, and
don't know this table.
"""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

CASCADE = """
ALTER TABLE scim_scimuser
    ADD FOREIGN KEY (user_id) REFERENCES accounts_user ON DELETE CASCADE,
    ADD FOREIGN KEY (account_id) REFERENCES accounts_account ON DELETE CASCADE;
"""


def cascade(apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute(CASCADE, params=None)


class Migration(migrations.Migration):
    initial = True
    dependencies = [("accounts", "0011_identity_providers")]
    operations = [
        migrations.CreateModel(
            name="ScimUser",
            fields=[
                ("user", models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="scim", serialize=False, to=settings.AUTH_USER_MODEL)),
                ("external_id", models.CharField(blank=True, default="", max_length=255)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("removed_at", models.DateTimeField(null=True)),
                ("account", models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.account", verbose_name="company")),
            ],
            options={"indexes": [models.Index(fields=["account", "external_id"], name="scim_external_id")]},
        ),
        migrations.RunPython(cascade, migrations.RunPython.noop),
    ]
