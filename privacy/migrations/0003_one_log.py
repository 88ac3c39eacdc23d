from django.db import migrations


def delete_entries(apps, schema_editor):
    """The audit log has had the same since 1.0.0."""
    apps.get_model("admin", "LogEntry").objects.all().delete()


class Migration(migrations.Migration):

    dependencies = [
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("privacy", "0002_erasures"),
    ]

    operations = [migrations.RunPython(delete_entries, migrations.RunPython.noop, elidable=True)]
