"""`manage.py roles`: the rights of the two support groups in every model admin."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.test import Client, RequestFactory

from accounts.models import User
from audit.models import AuditEvent
from backoffice.management.commands.roles import FIRST_LINE, READ_ONLY
from tests.backoffice.helpers import list_of, page_of, text
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

MODELS = list(admin.site._registry)
ACTIONS = {  # of each group, beside viewing and exporting the audit log
    READ_ONLY: set(),
    FIRST_LINE: {
        ("User", "unlock"),
        ("User", "send_password_link"),
        ("Lockout", "clear"),
        ("OutgoingMail", "try_again"),
        ("Invitation", "resend"),
        ("Invitation", "revoke"),
        ("ApiKey", "revoke"),
    },
}


@pytest.fixture
def groups():
    call_command("roles")


def staff_in(group, user):
    """The user, as staff in the group."""
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.groups.set([Group.objects.get(name=group)])
    return User.objects.get(pk=user.pk)


def browser_of(user):
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("group", [READ_ONLY, FIRST_LINE])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_support_groups_see_everything_and_save_nothing(groups, bob, group, model):
    request = RequestFactory().get("/")
    request.user = staff_in(group, bob)
    site = admin.site.get_model_admin(model)

    assert browser_of(request.user).get(list_of(model)).status_code == 200
    assert site.has_view_permission(request)
    assert not any(getattr(site, f"has_{act}_permission")(request) for act in ("add", "delete"))
    if site.has_change_permission(request):  # of the list only, as an action needs it
        assert not site.has_change_permission(request, model())


@pytest.mark.parametrize("group", [READ_ONLY, FIRST_LINE])
def test_actions_of_each_support_group(groups, bob, group):
    request = RequestFactory().get("/")
    request.user = staff_in(group, bob)
    actions = {
        (model.__name__, name)
        for model, site in admin.site._registry.items()
        for name in site.get_actions(request)
    }

    assert actions == ACTIONS[group] | {("AuditEvent", "export")}


def test_first_line_unlocks_on_the_user_page(groups, ada, bob):
    Lockout.objects.record_failure(ada.email)
    browser = browser_of(staff_in(FIRST_LINE, bob))
    page = text(browser, page_of(ada))
    browser.post(page_of(ada), {"_do": "unlock"})

    assert 'value="unlock"' in page
    assert 'value="make_admin"' not in page
    assert not Lockout.objects.exists()


def test_second_run_of_roles_changes_nothing(groups):
    before = {group: set(group.permissions.all()) for group in Group.objects.all()}
    event_count = AuditEvent.objects.count()
    call_command("roles")

    assert {group: set(group.permissions.all()) for group in Group.objects.all()} == before
    assert AuditEvent.objects.count() == event_count == 2


def test_added_permission_of_a_support_group_is_removed(groups):
    group = Group.objects.get(name=READ_ONLY)
    before = set(group.permissions.values_list("pk", flat=True))
    group.permissions.add(Group.objects.get(name=FIRST_LINE).permissions.exclude(pk__in=before)[0])
    call_command("roles")

    assert set(group.permissions.values_list("pk", flat=True)) == before
    assert AuditEvent.objects.filter(kind="admin.changed", subject=READ_ONLY).count() == 1


@pytest.mark.parametrize(
    ("app", "model", "permission", "migration"),
    [
        ("audit", "record", "audit.view_auditevent", "audit.migrations.0011_audit_events"),
        (
            "accounts",
            "connection",
            "sso.view_identityprovider",
            "sso.migrations.0002_identity_providers",
        ),
    ],
)
def test_permissions_survive_the_renaming_of_a_model(bob, app, model, permission, migration):
    """On hosts of the release before, which know the old name, and on those of this one."""
    content_type = ContentType.objects.create(app_label=app, model=model)
    old_permission = Permission.objects.create(
        content_type=content_type, codename=f"view_{model}", name=""
    )
    auditors = Group.objects.create(name="Auditors")
    auditors.permissions.add(old_permission)
    bob.groups.add(auditors)
    import_module(migration).copy_permissions(apps, None)

    assert bob.has_perms([f"{app}.view_{model}", permission])
