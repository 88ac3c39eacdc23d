"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import base.emails
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('emailchanges', '0001_initial'),
        ('emailchanges', '0002_token_version'),
        ('emailchanges', '0003_names'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='EmailChange',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('email', base.emails.CanonicalEmailField(max_length=254, verbose_name='e-mail address')),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'Deutsch'), ('sv', 'Svenska')], default='en', max_length=10)),
                ('generation', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('old_email', base.emails.CanonicalEmailField(editable=False, max_length=254, verbose_name='old e-mail address')),
                ('user', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                ('token_version', models.PositiveBigIntegerField(editable=False, help_text="The user's at that time; empty for older rows.", null=True)),
            ],
            options={
                'verbose_name': 'e-mail change',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='UndoEmailChange',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('email', base.emails.CanonicalEmailField(max_length=254, verbose_name='e-mail address')),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'Deutsch'), ('sv', 'Svenska')], default='en', max_length=10)),
                ('generation', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('new_email', base.emails.CanonicalEmailField(editable=False, max_length=254, verbose_name='new e-mail address')),
                ('user', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'undo link for an e-mail change',
                'verbose_name_plural': 'undo links for e-mail changes',
                'ordering': ['-created_at'],
            },
        ),
    ]
