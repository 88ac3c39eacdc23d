"""What hurts asks first: by the list's menu and by the page's button, whichever action it is."""

from html import unescape

import pytest
from django.contrib import admin
from django.urls import reverse

from accounts.models import Role, User
from audit.models import AuditEvent
from invitations.models import Invitation

pytestmark = pytest.mark.django_db

ASKED = {  # every action that asks; a new one stands here
    "User": {"sign_out", "make_admin", "make_member", "deactivate", "reset_factors"},
    "Invitation": {"revoke"},
    "Grant": {"end"},
    "Client": {"end_grants"},
    "IdentityProvider": {"stop"},
}


def page(user):
    return reverse("admin:accounts_user_change", args=[user.pk])


def choose(name, *users):
    return {"action": name, "_selected_action": [str(user.pk) for user in users]}


def test_table_is_whole():
    sites = {model.__name__: set(site.asks_first) for model, site in admin.site._registry.items()}

    assert {name: asked for name, asked in sites.items() if asked} == ASKED


@pytest.mark.parametrize("name", sorted(ASKED["User"]))
@pytest.mark.parametrize("by", ["list", "button"])
def test_nothing_is_done_before_confirmation(operator, ada, bob, name, by):
    User.objects.filter(pk=bob.pk).update(has_second_factor=True, role=Role.ADMIN)
    before = User.objects.values().get(pk=bob.pk)
    url, body = (page(bob), {"_do": name}) if by == "button" else (
        "/admin/accounts/user/", choose(name, bob) | {"_do": "a list ignores it"}
    )  # fmt: skip
    asked = operator.post(url, body).content.decode()

    assert admin.site.get_model_admin(User).asks_first[name] in unescape(asked)
    assert bob.email in asked
    assert f'value="{name}"' in asked
    assert User.objects.values().get(pk=bob.pk) == before
    assert not AuditEvent.objects.filter(subject=bob.email).exists()


def test_question_names_ten_and_counts_the_rest(operator, ada, new_user):
    users = [new_user(account=ada.account) for _ in range(12)]
    asked = operator.post("/admin/accounts/user/", choose("deactivate", *users)).content.decode()

    assert sum(f"<li>{user.email}</li>" in asked for user in users) == 10
    assert "12 in total." in asked


def test_harmless_actions_do_not_ask(operator, ada, bob):
    Invitation.objects.invite(ada, "charles@example.com")
    assert operator.post(page(bob), {"_do": "send_password_link"}).status_code == 302
    assert AuditEvent.objects.filter(kind="password.link", subject=bob.email).exists()


def test_only_admin_is_not_offered_the_way_out(operator, ada, bob):
    alone = operator.get(page(ada)).content.decode()
    User.objects.filter(pk=bob.pk).update(role=Role.ADMIN)
    with_another = operator.get(page(ada)).content.decode()

    for name in ("make_member", "deactivate"):
        assert f'value="{name}"' not in alone
        assert f'value="{name}"' in with_another
    assert "only admin" in alone
