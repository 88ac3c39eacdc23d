"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('keys', '0001_initial'),
        ('keys', '0002_signing_keys'),
        ('keys', '0003_withdrawn_keys'),
    ]

    initial = True

    dependencies = [
        ('audit', '0003_erasure'),  # the first key is recorded once this is applied
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
