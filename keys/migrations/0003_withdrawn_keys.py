from django.db import migrations


def delete_withdrawn(apps, schema_editor):
    """The audit log has who withdrew them; without a row `importkeys` leaves them out."""
    keys = apps.get_model("keys", "SigningKey").objects
    keys.filter(withdrawn_at__isnull=False).delete()


class Migration(migrations.Migration):

    dependencies = [
        ("keys", "0002_signing_keys"),
    ]

    operations = [
        migrations.RunPython(delete_withdrawn, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField(model_name="signingkey", name="withdrawn_at"),
    ]
