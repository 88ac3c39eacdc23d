"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('assistants', '0001_initial'),
        ('assistants', '0002_metadata_documents'),
        ('assistants', '0003_unused_clients'),
        ('assistants', '0004_names'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Client',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, verbose_name='claimed name')),
                ('redirect_uris', models.JSONField(default=list, verbose_name='redirect URIs')),
                ('created_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now, editable=False)),
                ('fresh_until', models.DateTimeField(editable=False, null=True, verbose_name='cached until')),
                ('url', models.CharField(editable=False, max_length=500, null=True, unique=True, verbose_name='metadata document')),
            ],
            options={
                'ordering': ['-created_at'],
                'verbose_name': 'registered app',
            },
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('redirect_uri', models.CharField(editable=False, max_length=2000, verbose_name='redirect URI')),
                ('code_challenge', models.CharField(editable=False, max_length=43)),
                ('token_version', models.PositiveBigIntegerField(editable=False, help_text="The user's at that time; raising the user's ends the grant.")),
                ('generation', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='connected')),
                ('redeemed_at', models.DateTimeField(editable=False, null=True, verbose_name='code redeemed')),
                ('used_at', models.DateTimeField(editable=False, null=True, verbose_name='last refreshed')),
                ('ended_at', models.DateTimeField(editable=False, null=True, verbose_name='ended')),
                ('client', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='assistants.client', verbose_name='app')),
                ('user', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='grants', to=settings.AUTH_USER_MODEL)),
                ('used_from', models.CharField(blank=True, db_default='', editable=False, max_length=60, verbose_name='last refreshed from')),
            ],
            options={
                'ordering': ['-created_at', 'id'],
                'indexes': [models.Index(fields=['created_at'], name='grant_by_age')],
                'verbose_name': 'connected app',
            },
        ),
    ]
