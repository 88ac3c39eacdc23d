"""Who may act on whom: every actor, every act and every target, by each way in."""

import pytest
from django.contrib import admin
from django.test import Client as Browser

from accounts.models import User
from backoffice.management.commands.roles import FIRST_LINE, READ_ONLY, group_permissions
from tests.authority.acts import NOBODY, PROTECTED, perm
from tests.authority.at_the_shell import COMMANDS
from tests.authority.back_office import BACK_OFFICE
from tests.authority.by_token import BY_TOKEN
from tests.authority.world import actor_of, state, wrong
from tests.clients import bearer
from tests.routes import ROUTES, url_of

pytestmark = pytest.mark.django_db


def is_open(act, kind, held):
    return kind in act.who and (kind != "staff" or act.opens(held))


def may_in_back_office(kind, held):
    def may(act, target):
        if not is_open(act, kind, held) or target in act.never:
            return False
        if target == "self":
            return kind in act.own
        return kind == "superuser" or target not in PROTECTED

    return may


def try_back_office(world, kind, permissions):
    actor = actor_of(world, kind, permissions)
    browser = Browser()
    browser.force_login(actor)
    session = browser.cookies["sessionid"].value

    def again():  # an act may have ended the session; a new browser takes long to make
        browser.cookies.clear()
        browser.cookies["sessionid"] = session
        return browser

    may = may_in_back_office(kind, permissions)
    return [
        line
        for act in BACK_OFFICE
        for line in wrong(act, world, again, actor, may, is_open=is_open(act, kind, permissions))
    ]


def every_permission():
    return {
        perm(what, model)
        for model in admin.site._registry
        for what in ("add", "change", "delete", "view")
    }


OPENING = {key for act in BACK_OFFICE for key in act.keys | act.or_keys}
TOGETHER = {act.or_keys for act in BACK_OFFICE if len(act.or_keys) > 1}


@pytest.mark.parametrize("permission", sorted(OPENING))
def test_staff_with_one_permission_do_what_it_is_for_and_to_no_operator(world, permission):
    assert try_back_office(world, "staff", {permission}) == []


@pytest.mark.parametrize("permissions", sorted(TOGETHER, key=sorted))
def test_staff_with_those_that_open_together_do_what_they_are_for(world, permissions):
    assert try_back_office(world, "staff", set(permissions)) == []


@pytest.mark.parametrize("role", [READ_ONLY, FIRST_LINE])
def test_roles_do_what_they_are_for_and_act_on_no_operator(world, role):
    assert try_back_office(world, "staff", group_permissions()[role]) == []


def test_all_other_permissions_together_open_nothing(world):
    assert try_back_office(world, "staff", every_permission() - OPENING) == []


def test_staff_with_every_permission_act_on_no_operator(world):
    assert try_back_office(world, "staff", every_permission()) == []


@pytest.mark.parametrize("kind", ["member", "admin", "operators' admin", "superuser"])
def test_superusers_do_everything_but_change_their_own_rank(world, kind):
    assert try_back_office(world, kind, set()) == []


OF_THE_COMPANY = {"PATCH /account", "POST /account/domains", "POST /invitations", "invite_user"}


def may_by_token(kind):
    """Admins act within their company: a superuser of the operators' there alone, too."""

    def may(act, target):
        at_home = {"operators", "self"} if kind in {"superuser", "operators' admin"} else {
            "member", "admin", "staff", "superuser", "self", "customer"
        }  # fmt: skip
        if act.name in OF_THE_COMPANY:  # the caller's
            return kind in {"admin", "staff", "superuser"}
        if kind in {"member", "operators' admin"} or target not in at_home:
            return False
        if target == "self":
            return kind != "staff" and act.own != NOBODY
        return kind == "superuser" or target not in PROTECTED

    return may


@pytest.mark.parametrize("kind", ["member", "admin", "operators' admin", "staff", "superuser"])
def test_admins_act_within_their_company_and_on_no_operator(world, kind):
    actor = actor_of(world, kind, every_permission() if kind == "staff" else ())
    api = bearer(actor)

    lines = [
        line
        for act in BY_TOKEN
        for line in wrong(act, world, lambda: api, actor, may_by_token(kind))
    ]

    assert lines == []


@pytest.mark.parametrize(
    ("kind", "out"),
    [("admin", {"member", "admin"}), ("staff", {"member", "admin"}), ("superuser", {"operators"})],
)
def test_companys_rule_signs_out_its_users_and_no_operator(world, kind, out):
    actor, people = actor_of(world, kind), world["people"]
    User.objects.exclude(pk=actor.pk).update(has_second_factor=False)

    answer = bearer(actor).patch("/account", {"second_factor": "required"})

    versions = dict(User.objects.values_list("pk", "token_version"))
    now_out = {name for name, user in people.items() if versions[user.pk] != user.token_version}
    assert (answer.status_code, now_out) == (200, out)


@pytest.mark.parametrize("kind", ["member", "admin", "operators' admin", "staff", "superuser"])
def test_reading_changes_nothing(world, kind):
    """A GET that changes a row is in no table of acts."""
    actor = actor_of(world, kind, every_permission() if kind == "staff" else ())
    api, before = bearer(actor), state()

    for target in world["people"].values():
        for path in [route.path for route in ROUTES if "GET" in route.methods]:
            api.get(url_of(path, user_id=target.pk))
            assert state() == before, f"GET {path} changes a row: answer another method instead"


@pytest.mark.parametrize("kind", ["member", "admin", "staff", "superuser"])
def test_export_is_of_its_caller_whoever_is_named(world, kind):
    actor = actor_of(world, kind)
    others = {user.email: user.pk for name, user in world["people"].items() if name != "self"}

    for pk in others.values():
        answer = bearer(actor).get("/auth/me/data", data={"user_id": str(pk), "id": str(pk)})
        text = answer.getvalue().decode()
        assert actor.email in text
        assert [email for email in others if email in text] == []


def test_commands_act_on_everyone_but_never_delete_the_operators(world, monkeypatch):
    monkeypatch.setattr("getpass.getpass", lambda *_, **__: "a password of the shell's")

    lines = [
        line
        for act in COMMANDS.values()
        for line in wrong(act, world, lambda: None, None, lambda act, name: name not in act.never)
    ]

    assert lines == []
