"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import base.emails
import django.utils.timezone
import mail.outbox
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('mail', '0001_initial'),
        ('mail', '0002_notices'),
        ('mail', '0003_mail_of_link'),
        ('mail', '0004_mail_of_address'),
        ('mail', '0005_heartbeat'),
        ('mail', '0006_delete_mailtally'),
        ('mail', '0007_outgoingmail_budget_key'),
        ('mail', '0008_mail_of_budget'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='MailBudget',
            fields=[
                ('name', models.CharField(max_length=400, primary_key=True, serialize=False)),
                ('used', models.PositiveIntegerField()),
                ('begun_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='OutgoingMail',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=60)),
                ('link_id', models.UUIDField(editable=False, null=True)),
                ('email', base.emails.CanonicalEmailField(max_length=254, verbose_name='e-mail address')),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'Deutsch'), ('sv', 'Svenska')], default='en', max_length=10)),
                ('state', models.CharField(choices=mail.outbox.states, default='requested', max_length=10)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('due_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('sent_at', models.DateTimeField(editable=False, null=True)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('problem', models.CharField(blank=True, editable=False, max_length=200)),
                ('origin', models.JSONField(default=dict, editable=False)),
                ('context', models.JSONField(db_default=None, editable=False, null=True)),
                ('budget_key', models.CharField(db_default='', editable=False, max_length=64)),
            ],
            options={
                'verbose_name': 'outgoing mail',
                'verbose_name_plural': 'outgoing mail',
                'ordering': ['-created_at'],
                'indexes': [models.Index(condition=models.Q(('state__in', ['requested', 'ready'])), fields=['state', 'due_at'], name='mail_waiting'), models.Index(fields=['created_at'], name='mail_by_age'), models.Index(fields=['link_id'], name='mail_of_link'), models.Index(fields=['email'], name='mail_of_address', opclasses=['varchar_pattern_ops']), models.Index(condition=models.Q(('state__in', ['requested', 'ready'])), fields=['budget_key'], name='mail_of_budget')],
            },
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('name', models.CharField(max_length=10, primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
            ],
        ),
    ]
