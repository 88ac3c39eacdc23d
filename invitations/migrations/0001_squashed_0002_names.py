"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import base.emails
import django.db.models.deletion
import django.utils.timezone
import invitations.models
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('invitations', '0001_initial'),
        ('invitations', '0002_names'),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('email', base.emails.CanonicalEmailField(max_length=254, verbose_name='e-mail address')),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'Deutsch'), ('sv', 'Svenska')], default='en', max_length=10)),
                ('generation', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('used_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('role', models.CharField(choices=[('admin', 'admin'), ('member', 'member')], default='member', max_length=10)),
                ('expires_at', models.DateTimeField(default=invitations.models.expiry, editable=False)),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='accounts.account', verbose_name='company')),
                ('consultant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='accounts.consultant')),
                ('invited_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', 'id'],
                'indexes': [models.Index(models.F('account'), models.OrderBy(models.F('created_at'), descending=True), models.F('id'), name='invitation_of_company'), models.Index(fields=['email', 'account'], name='invitation_of_address')],
                'constraints': [models.CheckConstraint(condition=models.Q(('used_at', None), ('revoked_at', None), _connector='OR'), name='invitation_one_end'), models.CheckConstraint(condition=models.Q(('role__in', ['admin', 'member'])), name='invitation_role_known')],
            },
        ),
    ]
