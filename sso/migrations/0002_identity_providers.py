"""Identity providers, domains and identities move here from the app `accounts`; `Provider` becomes
`ProviderMetadata`. Tables and columns stay as they are, for hosts of the release before. Groups and
users who may see connections may see identity providers, which have another content type; the
permissions of before stay."""

import secrets
import uuid

import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def copy_permissions(apps, schema_editor):
    ContentType = apps.get_model("contenttypes", "ContentType")
    Permission = apps.get_model("auth", "Permission")
    old = Permission.objects.filter(
        content_type__app_label="accounts", content_type__model="connection"
    )
    for permission in old:
        action = permission.codename.partition("_")[0]
        new_type, _ = ContentType.objects.get_or_create(app_label="sso", model="identityprovider")
        new, _ = Permission.objects.get_or_create(
            content_type=new_type,
            codename=f"{action}_identityprovider",
            defaults={"name": f"Can {action} identity provider"},
        )
        new.group_set.add(*permission.group_set.all())
        new.user_set.add(*permission.user_set.all())


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_trusts_emails"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("sso", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name='IdentityProvider',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('issuer', models.CharField(editable=False, max_length=500)),
                        ('client_id', models.CharField(editable=False, max_length=255, verbose_name='client ID')),
                        ('encrypted_secret', models.TextField(editable=False)),
                        ('active', models.BooleanField(default=False, editable=False)),
                        ('required', models.BooleanField(default=False, editable=False)),
                        ('creates_users', models.BooleanField(default=True, editable=False)),
                        ('session_tag', models.CharField(db_default='', default='', editable=False, max_length=32)),
                        ('trusts_emails', models.BooleanField(db_default=True, default=False, editable=False)),
                        ('configured_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='set up')),
                        ('tested_at', models.DateTimeField(editable=False, null=True, verbose_name='tested')),
                        ('stopped_at', models.DateTimeField(editable=False, null=True, verbose_name='switched off by operators')),
                        ('last_problem', models.CharField(blank=True, editable=False, max_length=40)),
                        ('last_problem_at', models.DateTimeField(editable=False, null=True, verbose_name='time of it')),
                        ('failing_since', models.DateTimeField(editable=False, null=True)),
                        ('account', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='identity_provider', to='accounts.account', verbose_name='company')),
                    ],
                    options={
                        'db_table': 'accounts_connection',
                        'ordering': ['account__name', 'id'],
                    },
                ),
                migrations.CreateModel(
                    name='Domain',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(editable=False, max_length=253)),
                        ('token', models.CharField(default=secrets.token_urlsafe, editable=False, max_length=64)),
                        ('proved_at', models.DateTimeField(editable=False, null=True, verbose_name='proved')),
                        ('account', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='domains', to='accounts.account', verbose_name='company')),
                    ],
                    options={
                        'db_table': 'accounts_domain',
                        'ordering': ['name'],
                    },
                ),
                migrations.CreateModel(
                    name='ProviderMetadata',
                    fields=[
                        ('provider', models.OneToOneField(db_column='connection_id', editable=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='sso.identityprovider')),
                        ('metadata', models.JSONField(default=dict, editable=False)),
                        ('metadata_read_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                        ('keys', models.JSONField(default=list, editable=False)),
                        ('keys_read_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                    ],
                    options={
                        'db_table': 'sso_provider',
                    },
                ),
                migrations.CreateModel(
                    name='Identity',
                    fields=[
                        ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                        ('sub', models.CharField(editable=False, max_length=255, verbose_name='subject')),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                        ('user', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='identities', to=settings.AUTH_USER_MODEL)),
                        ('provider', models.ForeignKey(db_column='connection_id', editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='identities', to='sso.identityprovider')),
                    ],
                    options={
                        'verbose_name_plural': 'identities',
                        'db_table': 'accounts_identity',
                        'ordering': ['created_at'],
                    },
                ),
                migrations.DeleteModel(
                    name='Provider',
                ),
                migrations.AddConstraint(
                    model_name='domain',
                    constraint=models.UniqueConstraint(fields=('account', 'name'), name='domain_once'),
                ),
                migrations.AddConstraint(
                    model_name='domain',
                    constraint=models.UniqueConstraint(condition=models.Q(('proved_at__isnull', False)), fields=('name',), name='domain_proved_once'),
                ),
                migrations.AddConstraint(
                    model_name='domain',
                    constraint=models.CheckConstraint(condition=models.Q(('name', django.db.models.functions.text.Lower('name'))), name='domain_lower'),
                ),
                migrations.AddConstraint(
                    model_name='identityprovider',
                    constraint=models.CheckConstraint(condition=models.Q(('active', False), ('tested_at__isnull', False), _connector='OR'), name='connection_active_is_tested'),
                ),
                migrations.AddConstraint(
                    model_name='identityprovider',
                    constraint=models.CheckConstraint(condition=models.Q(('required', False), ('active', True), _connector='OR'), name='connection_required_is_active'),
                ),
                migrations.AddConstraint(
                    model_name='identityprovider',
                    constraint=models.CheckConstraint(condition=models.Q(('active', False), ('stopped_at', None), _connector='OR'), name='connection_active_or_stopped'),
                ),
                migrations.AddConstraint(
                    model_name='identity',
                    constraint=models.UniqueConstraint(fields=('provider', 'sub'), name='identity_sub'),
                ),
                migrations.AddConstraint(
                    model_name='identity',
                    constraint=models.UniqueConstraint(fields=('provider', 'user'), name='identity_user'),
                ),
                migrations.AddConstraint(
                    model_name='identity',
                    constraint=models.CheckConstraint(condition=models.Q(('sub', ''), _negated=True), name='identity_sub_given'),
                ),
            ]
        ),
        migrations.RunPython(copy_permissions, migrations.RunPython.noop),
    ]
