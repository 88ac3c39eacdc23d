from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("apikeys", "0001_initial")]
    operations = [
        migrations.AddField(
            model_name="apikey",
            name="last_problem",
            field=models.CharField(db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="apikey",
            name="last_problem_at",
            field=models.DateTimeField(null=True, verbose_name="problem at"),
        ),
        migrations.AddField(
            model_name="apikey",
            name="problem_cleared_at",
            field=models.DateTimeField(null=True),
        ),
    ]
