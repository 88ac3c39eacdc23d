from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("privacy", "0003_one_log"),
    ]

    operations = [
        migrations.RemoveField(model_name="erasure", name="is_walked"),
        migrations.RemoveField(model_name="erasure", name="names"),
        migrations.RemoveField(model_name="erasure", name="walked_to"),
        migrations.RemoveField(model_name="erasure", name="walked_to_id"),
        migrations.DeleteModel(name="ExportUnderWay"),
    ]
