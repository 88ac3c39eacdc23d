"""Find events by who acted and by whom they are about, the newest first."""

from django.db import migrations, models

from audit.online import AddIndexOnline

PATTERN = "varchar_pattern_ops"
INDEXES = [
    models.Index(fields=["actor_id", "id"], name="audit_by"),
    models.Index(fields=["subject_id", "id"], name="audit_about"),
    models.Index(fields=["subject", "id"], name="audit_named", opclasses=[PATTERN, "int8_ops"]),
    models.Index(
        fields=["account_id", "at"],
        name="audit_email_change",
        condition=models.Q(kind__in=["email.link", "email.changed", "email.undone"]),
    ),
]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("audit", "0005_pseudonyms")]
    operations = [
        *(AddIndexOnline(model_name="record", index=index) for index in INDEXES),
        migrations.RemoveIndex(model_name="record", name="audit_subject"),
    ]
