"""An index for when somebody last signed in, made while people sign in."""

from django.db import migrations, models

SIGN_INS = models.Index(
    fields=["actor_id", "-at"],
    name="audit_sign_in",
    condition=models.Q(
        kind__in=["signup.completed", "login.succeeded", "password.changed", "invitation.accepted"]
    ),
)


def add(apps, editor):
    record = apps.get_model("audit", "Record")
    concurrently = {"concurrently": True} if editor.connection.vendor == "postgresql" else {}
    editor.add_index(record, SIGN_INS, **concurrently)


def remove(apps, editor):
    editor.remove_index(apps.get_model("audit", "Record"), SIGN_INS)


class Migration(migrations.Migration):
    atomic = False  # PostgreSQL makes no index concurrently in a transaction
    dependencies = [("audit", "0003_erasure")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add, remove)],
            state_operations=[migrations.AddIndex("record", SIGN_INS)],
        )
    ]
