"""Staff who are no superusers: what they may do to people, and never to operators."""

import pytest

from accounts.models import Account, User
from audit.models import AuditEvent, Kind
from backoffice.admin import UserAdmin
from invitations.models import Invitation
from tests.backoffice.helpers import staff_with
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


@pytest.fixture
def clerk(bob):
    """Bob as staff who may see and change users, and nothing else."""
    return staff_with(bob, "view_user", "change_user")


@pytest.fixture
def root():
    return User.objects.create_superuser("root@example.com", "an operator's")


def page(user):
    return f"/admin/accounts/user/{user.pk}/change/"


def form(user, **changes):
    names = ("first_name", "last_name", "language")
    return {name: getattr(user, name) for name in names} | changes


def test_people_are_renamed(clerk, ada):
    clerk.post(page(ada), form(ada, first_name="Augusta"))

    assert User.objects.get(pk=ada.pk).first_name == "Augusta"


def test_superusers_and_other_staff_are_read_only(clerk, ada, root):
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    for user in (root, ada):
        answer = clerk.post(page(user), form(user, first_name="Mallory"))

        assert answer.status_code == 403
        assert User.objects.get(pk=user.pk).first_name == user.first_name
        assert b'name="_do"' not in clerk.get(page(user)).content


def test_refused_action_on_an_operator_says_why(clerk, root):
    """What each of them may do to whom is tried in tests/authority."""
    chosen = {"action": "deactivate", "_selected_action": [str(root.pk)], "post": "yes"}
    by_list = clerk.post("/admin/accounts/user/", chosen, follow=True)
    by_button = clerk.post(page(root), {"_do": "deactivate", "post": "yes"}, follow=True)

    for answer in (by_list, by_button):
        assert "only a superuser can change operators" in answer.content.decode()


def test_rename_keeps_what_others_change_meanwhile(clerk, ada, monkeypatch):
    """The form writes what it changed alone: an older password or flag does not come back."""
    rename = UserAdmin.save_model

    def overtaken(site, request, user, *rest):
        User.objects.filter(pk=ada.pk).update(password="new", is_active=False)
        rename(site, request, user, *rest)

    monkeypatch.setattr(UserAdmin, "save_model", overtaken)
    clerk.post(page(ada), form(ada, first_name="Augusta"))

    found = User.objects.get(pk=ada.pk)
    assert (found.first_name, found.password, found.is_active) == ("Augusta", "new", False)


def test_rename_of_who_is_made_staff_meanwhile_is_refused(clerk, ada, monkeypatch):
    rename = UserAdmin.save_model

    def overtaken(site, request, user, *rest):
        User.objects.filter(pk=ada.pk).update(is_staff=True)
        rename(site, request, user, *rest)

    monkeypatch.setattr(UserAdmin, "save_model", overtaken)

    assert clerk.post(page(ada), form(ada, first_name="Augusta")).status_code == 403
    assert User.objects.get(pk=ada.pk).first_name == "Ada"


PARTS = {  # of a user's page: what shows, and the permission to view the list that it is from
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
    browser = staff_with(bob, "view_user", *filter(None, [codename]))
    shown = browser.get(page(ada)).content.decode().partition('id="content"')[2]

    assert {name for name, words in PARTS.items() if words in shown} == {codename} - {None}
    assert ada.email in shown
