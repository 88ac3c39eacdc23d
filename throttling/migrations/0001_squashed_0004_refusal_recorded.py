"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('throttling', '0001_initial'),
        ('throttling', '0002_names'),
        ('throttling', '0003_network_limit'),
        ('throttling', '0004_refusal_recorded'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Lockout',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.CharField(max_length=254)),
                ('device', models.CharField(blank=True, default='', editable=False, max_length=32)),
                ('failures', models.PositiveIntegerField()),
                ('failed_at', models.DateTimeField(db_index=True)),
                ('locked_until', models.DateTimeField(null=True)),
                ('refusal_recorded', models.BooleanField(db_column='met', default=False, help_text='In the audit log, during this lockout.')),
                ('refusals', models.PositiveIntegerField(default=0, help_text='Calls refused by lockouts since the user last signed in.')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('email', 'device'), name='lockout_of_device')],
            },
        ),
        migrations.CreateModel(
            name='NetworkLimit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('network', models.CharField(help_text='Such as 203.0.113.0/24 or 2001:db8:1::/48.', max_length=43, unique=True)),
                ('limit', models.PositiveIntegerField(help_text='Credential calls in a window, for each address in the network.', validators=[django.core.validators.MinValueValidator(1)])),
            ],
            options={
                'ordering': ['network'],
            },
        ),
    ]
