"""The tables as 2.2 has them. The replaced files stay until 3.1, for databases of 2.1."""

import accounts.validators
import base.emails
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

KEY = r"LOWER(REGEXP_REPLACE(NORMALIZE(%s, NFKD), '[\u0300-\u036f]', '', 'g'))"


def add_index(apps, editor):
    """For GET /users, which sorts by SortKey. Not on SQLite, whose own tools don't know it."""
    if editor.connection.vendor == "postgresql":
        editor.execute(
            f"CREATE INDEX user_by_name ON accounts_user (account_id,"
            f" {KEY % 'last_name'}, {KEY % 'first_name'}, id)",
            params=None,
        )


class Migration(migrations.Migration):

    replaces = [
        ('accounts', '0001_initial'),
        ('accounts', '0002_sign_ins'),
        ('accounts', '0003_second_factor'),
        ('accounts', '0004_last_sign_in'),
        ('accounts', '0005_names'),
        ('accounts', '0006_order_of_names'),
        ('accounts', '0007_keeps_password'),
        ('accounts', '0008_connections'),
        ('accounts', '0009_session_tag'),
        ('accounts', '0010_trusts_emails'),
    ]

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200, validators=[accounts.validators.validate_name])),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('is_operators', models.BooleanField(db_default=False, default=False, editable=False, verbose_name="the operators' company")),
                ('second_factor', models.CharField(choices=[('optional', 'optional'), ('required', 'required')], db_default='optional', default='optional', editable=False, max_length=10)),
            ],
            options={
                'ordering': ['name', 'id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_operators', True)), fields=('is_operators',), name='account_operators')],
                'verbose_name': 'company',
                'verbose_name_plural': 'companies',
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('email', base.emails.CanonicalEmailField(max_length=254, unique=True, verbose_name='e-mail address')),
                ('first_name', models.CharField(blank=True, max_length=150, validators=[accounts.validators.validate_name])),
                ('last_name', models.CharField(blank=True, max_length=150, validators=[accounts.validators.validate_name])),
                ('role', models.CharField(choices=[('admin', 'admin'), ('member', 'member')], default='member', max_length=10)),
                ('language', models.CharField(choices=[('en', 'English'), ('de', 'Deutsch'), ('sv', 'Svenska')], default='en', max_length=10)),
                ('is_active', models.BooleanField(default=True, help_text="Inactive users can't sign in; their tokens are invalid.", verbose_name='active')),
                ('is_staff', models.BooleanField(default=False, help_text='Can enter the back office, with the permissions given.', verbose_name='staff')),
                ('token_version', models.PositiveBigIntegerField(default=1, editable=False, help_text='Raising it ends every session.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='users', to='accounts.account', verbose_name='company')),
                ('last_sign_in_at', models.DateTimeField(editable=False, null=True, verbose_name='last sign-in')),
                ('has_second_factor', models.BooleanField(db_default=False, default=False, editable=False, help_text='Maintained by signin.factors.')),
                ('keeps_password', models.BooleanField(db_default=False, default=False, editable=False, help_text='An admin who signs in by password even where the provider is required.')),
            ],
            options={
                'ordering': ['last_name', 'first_name', 'id'],
                'indexes': [models.Index(fields=['account', 'last_name', 'first_name', 'id'], name='user_of_company')],
                'constraints': [models.CheckConstraint(condition=models.Q(('email', django.db.models.functions.text.Lower('email'))), name='user_email_lower'), models.CheckConstraint(condition=models.Q(('role__in', ['admin', 'member'])), name='user_role_known')],
            },
        ),
        migrations.CreateModel(
            name='Consultant',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(blank=True, max_length=200, validators=[accounts.validators.validate_name])),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consultants', to='accounts.account', verbose_name='company')),
                ('manager', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='managed_consultants', to=settings.AUTH_USER_MODEL)),
                ('user', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='consultant', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Connection',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('issuer', models.CharField(editable=False, max_length=500)),
                ('client_id', models.CharField(editable=False, max_length=255, verbose_name='client ID')),
                ('encrypted_secret', models.TextField(editable=False)),
                ('active', models.BooleanField(default=False, editable=False)),
                ('required', models.BooleanField(default=False, editable=False)),
                ('creates_users', models.BooleanField(default=True, editable=False)),
                ('configured_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='set up')),
                ('tested_at', models.DateTimeField(editable=False, null=True, verbose_name='tested')),
                ('stopped_at', models.DateTimeField(editable=False, null=True, verbose_name='switched off by operators')),
                ('last_problem', models.CharField(blank=True, editable=False, max_length=40)),
                ('failing_since', models.DateTimeField(editable=False, null=True)),
                ('last_problem_at', models.DateTimeField(editable=False, null=True, verbose_name='time of it')),
                ('account', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='connection', to='accounts.account', verbose_name='company')),
                ('session_tag', models.CharField(db_default='', default='', editable=False, max_length=32)),
                ('trusts_emails', models.BooleanField(db_default=True, default=False, editable=False)),
            ],
            options={
                'ordering': ['account__name', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('active', False), ('tested_at__isnull', False), _connector='OR'), name='connection_active_is_tested'), models.CheckConstraint(condition=models.Q(('required', False), ('active', True), _connector='OR'), name='connection_required_is_active'), models.CheckConstraint(condition=models.Q(('active', False), ('stopped_at', None), _connector='OR'), name='connection_active_or_stopped')],
            },
        ),
        migrations.CreateModel(
            name='Domain',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(editable=False, max_length=253)),
                ('token', models.CharField(editable=False, max_length=64)),
                ('proved_at', models.DateTimeField(editable=False, null=True, verbose_name='proved')),
                ('account', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='domains', to='accounts.account', verbose_name='company')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('account', 'name'), name='domain_once'), models.UniqueConstraint(condition=models.Q(('proved_at__isnull', False)), fields=('name',), name='domain_proved_once'), models.CheckConstraint(condition=models.Q(('name', django.db.models.functions.text.Lower('name'))), name='domain_lower')],
            },
        ),
        migrations.CreateModel(
            name='Identity',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('sub', models.CharField(editable=False, max_length=255, verbose_name='subject')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('connection', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='identities', to='accounts.connection')),
                ('user', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='identities', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'identities',
                'ordering': ['created_at'],
                'constraints': [models.UniqueConstraint(fields=('connection', 'sub'), name='identity_sub'), models.UniqueConstraint(fields=('connection', 'user'), name='identity_user'), models.CheckConstraint(condition=models.Q(('sub', ''), _negated=True), name='identity_sub_given')],
            },
        ),
        migrations.RunPython(add_index, migrations.RunPython.noop),
    ]
