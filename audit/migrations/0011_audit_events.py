"""The model `Record` is called `AuditEvent`; its table stays as it is. Groups and users who may see
records may see events. The permission of before stays, for hosts of the release before."""

from django.conf import settings
from django.db import migrations


def copy_permissions(apps, schema_editor):
    ContentType = apps.get_model("contenttypes", "ContentType")
    Permission = apps.get_model("auth", "Permission")
    for old in Permission.objects.filter(
        content_type__app_label="audit", content_type__model="record"
    ):
        action = old.codename.partition("_")[0]
        new_type, _ = ContentType.objects.get_or_create(app_label="audit", model="auditevent")
        new, _ = Permission.objects.get_or_create(
            content_type=new_type,
            codename=f"{action}_auditevent",
            defaults={"name": f"Can {action} audit event"},
        )
        new.group_set.add(*old.group_set.all())
        new.user_set.add(*old.user_set.all())


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0010_pruning"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Record", "AuditEvent"),
                migrations.AlterModelTable("auditevent", "audit_record"),
            ]
        ),
        migrations.RunPython(copy_permissions, migrations.RunPython.noop),
    ]
