"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import base.emails
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('signin', '0001_initial'),
        ('signin', '0002_factors'),
        ('signin', '0003_signup_of_address'),
        ('signin', '0004_devices'),
        ('signin', '0005_names'),
        ('signin', '0006_device_network'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='SignupLink',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('email', base.emails.CanonicalEmailField(max_length=254, verbose_name='e-mail address')),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'Deutsch'), ('sv', 'Svenska')], default='en', max_length=10)),
                ('generation', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('used_at', models.DateTimeField(blank=True, editable=False, null=True)),
            ],
            options={
                'verbose_name': 'sign-up link',
                'ordering': ['-created_at'],
                'indexes': [models.Index(fields=['email'], name='signup_of_address', opclasses=['varchar_pattern_ops'])],
            },
        ),
        migrations.CreateModel(
            name='UnlockLink',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('email', base.emails.CanonicalEmailField(max_length=254, verbose_name='e-mail address')),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'Deutsch'), ('sv', 'Svenska')], default='en', max_length=10)),
                ('generation', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('network', models.CharField(blank=True, editable=False, max_length=60)),
                ('locked_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('user', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'unlock link',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Factors',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='factors', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('totp_id', models.UUIDField(editable=False, null=True)),
                ('totp_secret', models.TextField(blank=True, editable=False)),
                ('totp_step', models.BigIntegerField(default=0, editable=False)),
                ('totp_name', models.CharField(blank=True, editable=False, max_length=60)),
                ('totp_added_at', models.DateTimeField(editable=False, null=True)),
                ('totp_used_at', models.DateTimeField(editable=False, null=True)),
                ('wrong_codes', models.PositiveIntegerField(default=0, editable=False)),
                ('warned_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'second factors',
                'verbose_name_plural': 'second factors',
            },
        ),
        migrations.CreateModel(
            name='UsedChallenge',
            fields=[
                ('nonce', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('used_at', models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='Passkey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('credential_id', models.CharField(editable=False, max_length=1400, unique=True)),
                ('credential', models.BinaryField()),
                ('handle', models.BinaryField()),
                ('sign_count', models.PositiveBigIntegerField(default=0, editable=False)),
                ('name', models.CharField(blank=True, editable=False, max_length=60)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('last_used_at', models.DateTimeField(editable=False, null=True)),
                ('factors', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='passkeys', to='signin.factors')),
            ],
            options={
                'ordering': ['created_at'],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('factors', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to='signin.factors')),
            ],
        ),
        migrations.CreateModel(
            name='Device',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('token_version', models.PositiveBigIntegerField(editable=False)),
                ('name', models.CharField(editable=False, max_length=40)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('used_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('user', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='devices', to=settings.AUTH_USER_MODEL)),
                ('network', models.CharField(db_default='', editable=False, max_length=60)),
            ],
            options={
                'verbose_name': 'known device',
                'ordering': ['-used_at'],
            },
        ),
    ]
