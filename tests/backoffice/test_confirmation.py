"""Actions that ask for confirmation, in the list's menu and as buttons of a page."""

from html import unescape

import pytest
from django.contrib import admin

from accounts.models import Role, User
from audit.models import AuditEvent
from invitations.models import Invitation
from tests.backoffice.helpers import list_of, page_of, text

pytestmark = pytest.mark.django_db

CONFIRMED_ACTIONS = {  # by model
    "User": {"sign_out", "make_admin", "make_member", "deactivate", "reset_factors"},
    "Invitation": {"revoke"},
    "Grant": {"end"},
    "Client": {"end_grants"},
    "IdentityProvider": {"stop"},
    "ApiKey": {"revoke"},
}


def choose(name, *users):
    return {"action": name, "_selected_action": [str(user.pk) for user in users]}


def test_table_of_actions_with_confirmation_is_complete():
    sites = {model.__name__: set(site.asks_first) for model, site in admin.site._registry.items()}

    assert {name: actions for name, actions in sites.items() if actions} == CONFIRMED_ACTIONS


@pytest.mark.parametrize("name", sorted(CONFIRMED_ACTIONS["User"]))
@pytest.mark.parametrize("way", ["list", "button"])
def test_nothing_changes_before_confirmation(operator, ada, bob, name, way):
    User.objects.filter(pk=bob.pk).update(has_second_factor=True, role=Role.ADMIN)
    before = User.objects.values().get(pk=bob.pk)
    url, body = page_of(bob), {"_do": name}
    if way == "list":
        url, body = list_of(User), choose(name, bob) | {"_do": "a list ignores it"}
    question = operator.post(url, body).content.decode()

    assert admin.site.get_model_admin(User).asks_first[name] in unescape(question)
    assert bob.email in question
    assert f'value="{name}"' in question
    assert User.objects.values().get(pk=bob.pk) == before
    assert not AuditEvent.objects.filter(subject=bob.email).exists()


def test_confirmation_page_names_ten_rows_and_counts_all(operator, ada, new_user):
    users = [new_user(account=ada.account) for _ in range(12)]
    question = operator.post(list_of(User), choose("deactivate", *users)).content.decode()

    assert sum(f"<li>{user.email}</li>" in question for user in users) == 10
    assert "12 in total." in question


def test_harmless_action_runs_without_confirmation(operator, ada, bob):
    Invitation.objects.invite(ada, "charles@example.com")
    assert operator.post(page_of(bob), {"_do": "send_password_link"}).status_code == 302
    assert AuditEvent.objects.filter(kind="password.link", subject=bob.email).exists()


def test_only_admin_has_no_button_to_lose_the_role(operator, ada, bob):
    page_of_only_admin = text(operator, page_of(ada))
    User.objects.filter(pk=bob.pk).update(role=Role.ADMIN)
    page_with_another_admin = text(operator, page_of(ada))

    for name in ("make_member", "deactivate"):
        assert f'value="{name}"' not in page_of_only_admin
        assert f'value="{name}"' in page_with_another_admin
    assert "only admin" in page_of_only_admin
