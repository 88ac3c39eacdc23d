"""The tables as 2.2 had them."""

from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('audit', '0001_squashed_0007_former_addresses'),  # the first key is recorded once this is applied
    ]

    operations = [
        migrations.CreateModel(
            name='SigningKey',
            fields=[
                ('kid', models.CharField(max_length=43, primary_key=True, serialize=False)),
                ('public_jwk', models.JSONField(default=dict)),
                ('private_key', models.TextField()),
                ('signs_from', models.DateTimeField()),
            ],
            options={
                'ordering': ['signs_from', 'kid'],
            },
        ),
    ]
