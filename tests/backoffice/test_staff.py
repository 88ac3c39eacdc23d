"""Staff who are not superusers: what they may change about users, and not about operators."""

import pytest
from django.contrib.auth.models import Group

from accounts.models import Account, User
from audit.models import AuditEvent, Kind
from backoffice.admin import UserAdmin
from backoffice.limits import NetworkLimitAdmin
from invitations.models import Invitation
from tests.backoffice.helpers import page_of, staff_with, take_action, text
from throttling.models import Lockout, NetworkLimit

pytestmark = pytest.mark.django_db


@pytest.fixture
def clerk(bob):
    """A browser of Bob, who is staff and may view and change users only."""
    return staff_with(bob, "view_user", "change_user")


@pytest.fixture
def root():
    return User.objects.create_superuser("root@example.com", "an operator's")


def form(user, **changes):
    """What a browser sends from the user's page, which also has the values that it showed."""
    values = {name: getattr(user, name) for name in ("first_name", "last_name", "language")}
    return {f"initial-{name}": value for name, value in values.items()} | values | changes


def test_staff_with_the_permission_rename_a_user(clerk, ada):
    clerk.post(page_of(ada), form(ada, first_name="Augusta"))

    assert User.objects.get(pk=ada.pk).first_name == "Augusta"


def test_rename_keeps_a_name_that_was_changed_since_the_page_was_shown(clerk, ada):
    User.objects.filter(pk=ada.pk).update(last_name="Byron")
    clerk.post(page_of(ada), form(ada, first_name="Augusta"))

    assert User.objects.get(pk=ada.pk).get_full_name() == "Augusta Byron"


def test_staff_cannot_change_superusers_and_other_staff(clerk, ada, root):
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    for user in (root, ada):
        answer = clerk.post(page_of(user), form(user, first_name="Mallory"))

        assert answer.status_code == 403
        assert User.objects.get(pk=user.pk).first_name == user.first_name
        assert b'name="_do"' not in clerk.get(page_of(user)).content


def test_refused_action_on_an_operator_says_why(clerk, root):
    """tests/authority has who may take which action on whom."""
    by_list = take_action(clerk, "deactivate", root)
    by_button = clerk.post(page_of(root), {"_do": "deactivate", "post": "yes"}, follow=True)

    for page in (by_list, by_button.content.decode()):
        assert "only a superuser can change operators" in page


def test_invitations_of_a_former_superuser_to_the_operators_company_end(operator, root):
    invitation = Invitation.objects.invite(root, "new@example.com")

    shown = {"initial-is_staff": "on", "initial-is_superuser": "on"}
    operator.post(page_of(root), form(root, is_staff="on", **shown))

    assert not User.objects.get(pk=root.pk).is_superuser
    assert Invitation.objects.get(pk=invitation.pk).status == "revoked"


def change_before_saving(monkeypatch, **changes):
    """Let another request change the user between the form's validation and its saving."""
    save_model = UserAdmin.save_model

    def save_after_change(site, request, user, *options):
        User.objects.filter(pk=user.pk).update(**changes)
        save_model(site, request, user, *options)

    monkeypatch.setattr(UserAdmin, "save_model", save_after_change)


def test_rename_keeps_changes_that_others_make_meanwhile(clerk, ada, monkeypatch):
    """The form saves only what it changed: an older password or flag does not come back."""
    change_before_saving(monkeypatch, password="new", is_active=False)
    clerk.post(page_of(ada), form(ada, first_name="Augusta"))

    user = User.objects.get(pk=ada.pk)
    assert (user.first_name, user.password, user.is_active) == ("Augusta", "new", False)


def test_rename_of_a_user_who_became_staff_meanwhile_is_refused(clerk, ada, monkeypatch):
    change_before_saving(monkeypatch, is_staff=True)

    assert clerk.post(page_of(ada), form(ada, first_name="Augusta")).status_code == 403
    assert User.objects.get(pk=ada.pk).first_name == "Ada"


def delete_before_saving(monkeypatch, page):
    """Let another request delete the row between the form's validation and its saving."""
    save_model = page.save_model

    def save_after_deletion(site, request, row, *options):
        type(row).objects.filter(pk=row.pk).delete()
        save_model(site, request, row, *options)

    monkeypatch.setattr(page, "save_model", save_after_deletion)


@pytest.mark.parametrize("changes", [{"first_name": "Augusta"}, {"groups": True}, {}])
def test_change_of_a_user_who_is_erased_meanwhile_is_refused(operator, ada, monkeypatch, changes):
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    if "groups" in changes:
        changes = {"groups": [Group.objects.create(name="support").pk]}
    delete_before_saving(monkeypatch, UserAdmin)

    privileges = {"is_staff": "on", "initial-is_staff": "on"}
    assert operator.post(page_of(ada), form(ada, **privileges | changes)).status_code == 403
    assert User.objects.filter(pk=ada.pk).exists()  # what the refused request did is undone


def test_change_of_a_row_that_is_deleted_meanwhile_is_refused(operator, monkeypatch):
    row = NetworkLimit.objects.create(network="192.0.2.0/24", limit=50)
    delete_before_saving(monkeypatch, NetworkLimitAdmin)
    shown = {"initial-network": row.network, "initial-limit": row.limit}

    changed = shown | {"network": row.network, "limit": 60}
    assert operator.post(page_of(row), changed).status_code == 403


PARTS = {  # by the permission to view a model: a text on the user's page
    "view_lockout": "Not locked; 1 failed attempt in a row",
    "view_auditevent": "sign-in failed",
    "view_grant": "Connected apps",
    "view_outgoingmail": "Latest mail",
    "view_passwordchange": "No password link is open.",
    "view_invitation": "to Other Engines: pending",
    "view_account": 'of <a href="/admin/accounts/account/',
}


@pytest.mark.parametrize("codename", [None, *PARTS])
def test_each_part_of_a_user_s_page_needs_its_permission(bob, ada, new_user, codename):
    boss = new_user(account=Account.objects.create(name="Other Engines"), role="admin")
    Invitation.objects.invite(boss, ada.email)
    Lockout.objects.record_failure(ada.email)
    AuditEvent.objects.create(kind=Kind.LOGIN_FAILED, subject=ada.email)
    browser = staff_with(bob, "view_user", codename)
    content = text(browser, page_of(ada)).partition('id="content"')[2]

    assert {name for name, words in PARTS.items() if words in content} == {codename} - {None}
    assert ada.email in content


def test_invitation_to_a_company_that_is_deleted_meanwhile_is_refused(operator, monkeypatch):
    def send_after_deletion(invitation, actor):
        Account.objects.filter(pk=invitation.account_id).delete()
        send(invitation, actor)

    company, send = Account.objects.create(name="Short-lived"), Invitation.send
    monkeypatch.setattr(Invitation, "send", send_after_deletion)
    body = {"account": company.pk, "email": "c@example.com", "role": "member", "language": "en"}
    answer = operator.post("/admin/invitations/invitation/add/", body)

    assert "This company was deleted." in answer.content.decode()


@pytest.mark.parametrize("path", ["password_change/", "password_change/done/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_password_forms_of_django_are_404(operator, path, method):
    """Operators change their passwords as all users do, by a mailed link."""
    assert getattr(operator, method)(f"/admin/{path}").status_code == 404


def test_header_links_to_the_mailed_password_change(bob):
    page = text(staff_with(bob), "/admin/")

    assert '/forgot-password">Change password</a>' in page
    assert "password_change/" not in page
