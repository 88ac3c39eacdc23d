import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("apikeys", "0001_initial"), ("invitations", "0002_names")]
    operations = [
        migrations.AddField(
            model_name="invitation",
            name="invited_by_key",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="apikeys.apikey",
            ),
        ),
    ]
