"""Groups and users who may see connections may see identity providers, which have another content
type. The permissions of before stay, for hosts of the release before."""

from django.db import migrations


def copy_permissions(apps, schema_editor):
    ContentType = apps.get_model("contenttypes", "ContentType")
    Permission = apps.get_model("auth", "Permission")
    old = Permission.objects.filter(
        content_type__app_label="accounts", content_type__model="connection"
    )
    for permission in old:
        action = permission.codename.partition("_")[0]
        new_type, _ = ContentType.objects.get_or_create(app_label="sso", model="identityprovider")
        new, _ = Permission.objects.get_or_create(
            content_type=new_type,
            codename=f"{action}_identityprovider",
            defaults={"name": f"Can {action} identity provider"},
        )
        new.group_set.add(*permission.group_set.all())
        new.user_set.add(*permission.user_set.all())


class Migration(migrations.Migration):
    dependencies = [
        ("sso", "0002_identity_providers"),
        ("accounts", "0011_identity_providers"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(copy_permissions, migrations.RunPython.noop)]
