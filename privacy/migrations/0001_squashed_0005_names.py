"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('privacy', '0001_initial'),
        ('privacy', '0002_erasures'),
        ('privacy', '0003_one_log'),
        ('privacy', '0004_shorter'),
        ('privacy', '0005_names'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('pseudonym', models.CharField(max_length=60, primary_key=True, serialize=False)),
                ('alias', models.UUIDField()),
                ('account_id', models.UUIDField(null=True, verbose_name='company ID')),
                ('ids', models.JSONField(default=list)),
                ('emails', models.JSONField(default=list)),
                ('erased_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('done_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['-erased_at'],
                'indexes': [models.Index(condition=models.Q(('done_at', None)), fields=['erased_at'], name='erasure_pending')],
            },
        ),
    ]
