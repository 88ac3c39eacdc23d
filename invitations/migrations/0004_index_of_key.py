from django.db import migrations, models

from audit.online import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("invitations", "0003_invited_by_key")]
    operations = [
        AddIndexOnline(
            model_name="invitation",
            index=models.Index(
                condition=models.Q(invited_by_key__isnull=False),
                fields=["invited_by_key"],
                name="invitation_of_key",
            ),
        ),
    ]
