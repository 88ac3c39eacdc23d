"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import audit.models
import django.core.serializers.json
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('audit', '0001_initial'),
        ('audit', '0002_sign_ins'),
        ('audit', '0003_erasure'),
        ('audit', '0004_erasure_search_path'),
        ('audit', '0005_pseudonyms'),
        ('audit', '0006_indexes_by_id'),
        ('audit', '0007_former_addresses'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Record',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=audit.models.kinds, max_length=40)),
                ('at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='time')),
                ('actor_id', models.UUIDField(null=True, verbose_name='actor ID')),
                ('actor_email', models.CharField(blank=True, max_length=254, verbose_name='actor')),
                ('subject', models.CharField(blank=True, max_length=254, verbose_name='subject')),
                ('account_id', models.UUIDField(null=True, verbose_name='company ID')),
                ('address', models.CharField(blank=True, max_length=60, verbose_name='client address')),
                ('agent', models.CharField(blank=True, max_length=100, verbose_name='client')),
                ('request_id', models.CharField(blank=True, db_default='', max_length=64, verbose_name='request ID')),
                ('shell_user', models.CharField(blank=True, db_default='', max_length=64, verbose_name='shell user')),
                ('detail', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('subject_id', models.UUIDField(null=True, verbose_name='subject ID')),
            ],
            options={
                'verbose_name': 'audit event',
                'ordering': ['-at', '-id'],
                'indexes': [models.Index(fields=['at'], name='audit_at'), models.Index(fields=['kind', 'at'], name='audit_kind'), models.Index(fields=['actor_email'], name='audit_actor', opclasses=['varchar_pattern_ops']), models.Index(fields=['address'], name='audit_address', opclasses=['varchar_pattern_ops']), models.Index(fields=['account_id', 'at'], name='audit_company'), models.Index(fields=['actor_id', 'id'], name='audit_by'), models.Index(fields=['subject_id', 'id'], name='audit_about'), models.Index(fields=['subject', 'id'], name='audit_named', opclasses=['varchar_pattern_ops', 'int8_ops'])],
            },
        ),
    ]
