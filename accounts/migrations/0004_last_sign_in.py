"""Keep when a user last signed in on their row, which the audit log knew until now."""

from django.db import migrations, models

# What an earlier pruning of the log has noted on the row stays where the log has nothing newer.
FILL = """
UPDATE accounts_user SET last_sign_in_at = COALESCE(
    (
        SELECT MAX(at) FROM audit_record
        WHERE actor_id = accounts_user.id AND kind IN (
            'login.succeeded', 'signup.completed', 'invitation.accepted', 'password.changed'
        )
    ),
    last_sign_in_at
)
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_second_factor"), ("audit", "0006_indexes_by_id")]
    operations = [
        migrations.RenameField("user", "signed_in_at", "last_sign_in_at"),
        migrations.AlterField(
            "user",
            "last_sign_in_at",
            models.DateTimeField("last sign-in", null=True, editable=False),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
