"""Who may act on whom: every actor, every act and every target, by each way in.

A new call, tool, action, page or admin model fails the first tests here until it is in the table.
"""

import json
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db import models, transaction
from django.test import Client as Browser
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account, Consultant, Role, User
from assistants.models import Client, Grant
from assistants.tools import TOOLS
from audit.models import Record
from backoffice.roles import FIRST_LINE, LOOKING, wanted
from config.schema import document
from invitations.models import Invitation
from mail.outbox import OutgoingMail, State
from passwords.models import PasswordChange
from signin.factors.models import Factors
from tests.assistants.conftest import send
from tests.conftest import bearer
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

Row = models.Model
Do = Callable[[Any, User, Any], Any]
PEOPLE = ["member", "admin", "staff", "superuser", "operators", "other", "self"]
COMPANIES = ["customer", "operators"]
PROTECTED = {"staff", "superuser", "operators"}  # only a superuser acts on these
ANYBODY, SUPERUSER, NOBODY = {"staff", "superuser"}, {"superuser"}, set[str]()


def perm(what, model):
    return f"{model._meta.app_label}.{what}_{model._meta.model_name}"


def page_of(model, what, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{what}", args=args)


@dataclass(frozen=True)
class Act:
    """`do` takes the act, as the actor, on a target; those do who have all of `keys`, or of
    `or_keys`, or are superusers. `own` says which of them do it to themselves."""

    name: str
    do: Do
    keys: frozenset[str] = frozenset()
    own: set[str] = field(default_factory=lambda: ANYBODY)
    targets: tuple[str, ...] = tuple(PEOPLE)
    before: dict[str, Any] = field(default_factory=dict)  # the target's columns, so that it changes
    who: set[str] = field(default_factory=lambda: ANYBODY)
    or_keys: frozenset[str] = frozenset()  # of use as well as `keys`; an empty set is of none

    def opens(self, held):
        return self.keys <= held or bool(self.or_keys and self.or_keys <= held)


# ---- the back office ----


def things(model, target):
    """The rows of a model that are the target, or are about it and nobody else."""
    if isinstance(target, model):
        return [target]
    if model is Client:
        return list(Client.objects.filter(grants__user=target))
    if model in {Lockout, OutgoingMail} and isinstance(target, User):
        return list(model._default_manager.filter(email=target.email))
    column = "account" if isinstance(target, Account) else "user"
    return list(model._default_manager.filter(**{column: target}))


def take_action(model, name):
    def do(browser, actor, target):
        chosen = [str(row.pk) for row in things(model, target)]
        body = {"action": name, "_selected_action": chosen, "post": "yes"}
        return browser.post(page_of(model, "changelist"), body)

    return do


def press(name):
    def do(browser, actor, target):
        return browser.post(page_of(User, "change", target.pk), {"_do": name, "post": "yes"})

    return do


def save(model, form):
    """Post a row's page; that of a new row where there is none that is the target's."""

    def do(browser, actor, target):
        row = things(model, target)[0]
        return browser.post(page_of(model, "change", row.pk), form(target))

    return do


def add(model, form):
    return lambda browser, actor, target: browser.post(page_of(model, "add"), form(target))


def delete(model):
    def do(browser, actor, target):
        row = things(model, target)[0]
        return browser.post(page_of(model, "delete", row.pk), {"post": "yes"})

    return do


def person_form(user, **changes):
    own = {"email": user.email}
    return own | {"first_name": "Mallory", "last_name": "M", "language": "sv"} | changes


def same_person(user):
    return {name: getattr(user, name) for name in ("email", "first_name", "last_name", "language")}


def privileges(user):
    """The name stays, and what can be given is given, or taken."""
    same = same_person(user)
    given = {} if user.is_staff else {"is_staff": "on", "is_superuser": "on"}
    return same | given | {"user_permissions": [Permission.objects.first().pk]}


def link(column):
    """Give the company's profile that nobody has to the target."""

    def do(browser, actor, target):
        free = Consultant.objects.get(account=target.account, name="free")
        body = {"name": "free", column: target.pk}
        return browser.post(page_of(Consultant, "change", free.pk), body)

    return do


def invitation(role):
    return lambda account: {
        "account": account.pk, "email": "new@example.com", "role": role, "language": "en"
    }  # fmt: skip


def invite_the_target(browser, actor, target):
    """Into a company that the target does not belong to."""
    body = {"account": Account.objects.get(name="Third").pk, "email": target.email}
    return browser.post(page_of(Invitation, "add"), body | {"role": "member", "language": "en"})


def keys(*pairs):
    return frozenset(perm(what, model) for what, model in pairs)


CHANGE_USER = keys(("change", User))
INVITE = keys(("add", Invitation))
STANDING = {
    "make_admin": {"role": Role.MEMBER},
    "make_member": {"role": Role.ADMIN},
    "deactivate": {"is_active": True},
    "activate": {"is_active": False},
}
ON_USERS = STANDING | {
    "sign_out": {}, "send_password_link": {}, "unlock": {}, "reset_factors": {}
}  # fmt: skip
OR_KEYS = {
    "unlock": keys(("view", User), ("change", Lockout)),
    "send_password_link": keys(("view", User), ("add", PasswordChange)),
}
OWN = dict.fromkeys([*STANDING, "reset_factors"], NOBODY) | {"unlock": SUPERUSER}
WHO = {"reset_factors": SUPERUSER}
CUSTOMERS = tuple(COMPANIES)


def on_user(way, do):
    return [
        Act(
            f"{way}: {name}",
            do(name),
            CHANGE_USER,
            OWN.get(name, ANYBODY),
            before=before,
            who=WHO.get(name, ANYBODY),
            or_keys=OR_KEYS.get(name, frozenset()),
        )
        for name, before in ON_USERS.items()
    ]


ACTIONS = {
    (Lockout, "clear"): Act(
        "lockout: clear", take_action(Lockout, "clear"), keys(("change", Lockout)), SUPERUSER
    ),
    (OutgoingMail, "try_again"): Act(
        "mail: try again",
        take_action(OutgoingMail, "try_again"),
        keys(("change", OutgoingMail)),
        SUPERUSER,
    ),
    (Grant, "end"): Act("grant: end", take_action(Grant, "end"), keys(("change", Grant))),
    (Client, "end_grants"): Act(
        "client: end grants",
        take_action(Client, "end_grants"),
        keys(("change", Grant), ("view", Client)),
    ),
    (Consultant, "delete_selected"): Act(
        "consultant: delete chosen",
        take_action(Consultant, "delete_selected"),
        keys(("delete", Consultant), ("view", Consultant)),
        SUPERUSER,
    ),
    (Invitation, "resend"): Act(
        "invitation: resend",
        take_action(Invitation, "resend"),
        INVITE | keys(("view", Invitation)),
        targets=CUSTOMERS,
        or_keys=keys(("change", Invitation)),
    ),
    (Invitation, "revoke"): Act(
        "invitation: revoke",
        take_action(Invitation, "revoke"),
        INVITE | keys(("view", Invitation)),
        targets=CUSTOMERS,
        or_keys=keys(("change", Invitation)),
    ),
    (Group, "delete_selected"): Act(
        "group: delete chosen",
        take_action(Group, "delete_selected"),
        who=SUPERUSER,
        targets=("group",),
    ),
}
ACTIONS |= {
    (User, act.name.removeprefix("list: ")): act
    for act in on_user("list", lambda name: take_action(User, name))
}
HARMLESS_ACTIONS = {(Record, "export")}

CHANGE_CONSULTANT = keys(("change", Consultant))
ADMIN_PAGES = {
    (Account, "add"): [
        Act(
            "company: add",
            add(Account, lambda _: {"name": "New"}),
            keys(("add", Account)),
            targets=("customer",),
        )
    ],
    (Account, "change"): [
        Act(
            "company: rename",
            save(Account, lambda _: {"name": "Renamed"}),
            keys(("change", Account)),
            targets=CUSTOMERS,
        )
    ],
    (User, "change"): [
        Act("person: rename", save(User, person_form), CHANGE_USER),
        Act(
            "person: e-mail address",
            save(User, lambda user: same_person(user) | {"email": "new@example.net"}),
            who=SUPERUSER,
        ),
        Act("person: privileges", save(User, privileges), own=NOBODY, who=SUPERUSER),
        *on_user("button", press),
    ],
    (User, "add"): [
        Act(
            "person: add",
            lambda browser, actor, target: browser.post(page_of(User, "add"), person_form(target)),
            who=NOBODY,
        )
    ],
    (Lockout, "change"): [
        Act("lockout: save", save(Lockout, lambda _: {"failures": 0}), who=NOBODY)
    ],
    (Consultant, "add"): [
        Act(
            "consultant: add",
            add(Consultant, lambda account: {"account": account.pk, "name": "New"}),
            keys(("add", Consultant)),
            targets=CUSTOMERS,
        )
    ],
    (Consultant, "change"): [
        Act(
            "consultant: rename",
            save(Consultant, lambda user: {"name": "New", "user": user.pk}),
            CHANGE_CONSULTANT,
            SUPERUSER,
        ),
        Act("consultant: link", link("user"), CHANGE_CONSULTANT, SUPERUSER, before={"free": True}),
        Act("consultant: manager", link("manager"), CHANGE_CONSULTANT, SUPERUSER),
    ],
    (Consultant, "delete"): [
        Act("consultant: delete", delete(Consultant), keys(("delete", Consultant)), SUPERUSER)
    ],
    (Invitation, "add"): [
        Act("invite member", add(Invitation, invitation("member")), INVITE, targets=CUSTOMERS),
        Act(
            "invite admin",
            add(Invitation, invitation("admin")),
            INVITE | CHANGE_USER,
            targets=CUSTOMERS,
        ),
        Act("invite whom", invite_the_target, INVITE, SUPERUSER),
    ],
    (Group, "add"): [
        Act(
            "group: add",
            add(Group, lambda _: {"name": "New"}),
            who=SUPERUSER,
            targets=("group",),
        )
    ],
    (Group, "change"): [
        Act(
            "group: rename",
            save(Group, lambda _: {"name": "New"}),
            who=SUPERUSER,
            targets=("group",),
        )
    ],
    (Group, "delete"): [Act("group: delete", delete(Group), who=SUPERUSER, targets=("group",))],
}
BACK_OFFICE = [*ACTIONS.values(), *(act for acts in ADMIN_PAGES.values() for act in acts)]


# ---- REST and MCP ----


def tool(name, **arguments):
    def do(api, actor, target):
        given = {argument: value(target) for argument, value in arguments.items()}
        return send(api, "tools/call", name=name, arguments=given)

    return do


def its_invitation(account):
    return str(Invitation.objects.get(account=account).pk)


def its_id(row):
    return str(row.pk)


NEW = {"email": "new@example.com"}
OTHERS = tuple(name for name in PEOPLE if name != "self")
ROLE = {"role": Role.ADMIN}
# By their operation in the schema: what admins do to the people, and the company, that are theirs.
CALLS = {
    "PATCH /users/{user_id}": [
        Act(
            "PATCH role",
            lambda api, actor, target: api.patch(f"/users/{target.pk}", {"role": "member"}),
            before=ROLE,
        ),
        Act(
            "PATCH is_active",
            lambda api, actor, target: api.patch(f"/users/{target.pk}", {"is_active": False}),
        ),
    ],
    "POST /users/{user_id}/sign-out": [
        Act(
            "POST sign-out",
            lambda api, actor, target: api.post(f"/users/{target.pk}/sign-out"),
            targets=OTHERS,
        )
    ],
    "POST /users/{user_id}/password-change": [
        Act(
            "POST password-change",
            lambda api, actor, target: api.post(f"/users/{target.pk}/password-change"),
            targets=OTHERS,
        )
    ],
    "DELETE /users/{user_id}/factors": [
        Act(
            "DELETE factors",
            lambda api, actor, target: api.delete(f"/users/{target.pk}/factors"),
            own=NOBODY,
        )
    ],
    "PATCH /account": [
        Act(
            "PATCH account",
            lambda api, actor, _: api.patch("/account", {"second_factor": "required"}),
            targets=CUSTOMERS,
        )
    ],
    "POST /invitations": [
        Act("POST", lambda api, actor, _: api.post("/invitations", NEW), targets=CUSTOMERS)
    ],
    "DELETE /invitations/{invitation_id}": [
        Act(
            "DELETE",
            lambda api, actor, target: api.delete(f"/invitations/{its_invitation(target)}"),
            targets=CUSTOMERS,
        )
    ],
    "POST /invitations/{invitation_id}/resend": [
        Act(
            "resend",
            lambda api, actor, target: api.post(f"/invitations/{its_invitation(target)}/resend"),
            targets=CUSTOMERS,
        )
    ],
}
CALLED_BY_TOOL = {
    "update_user": [
        Act(
            "update_user role",
            tool("update_user", user_id=its_id, role=lambda _: "member"),
            before=ROLE,
        ),
        Act("update_user", tool("update_user", user_id=its_id, is_active=lambda _: False)),
    ],
    "sign_out_user": [Act("sign_out_user", tool("sign_out_user", user_id=its_id),
                          targets=OTHERS)],
    "send_password_mail": [Act("send_password_mail", tool("send_password_mail", user_id=its_id),
                               targets=OTHERS)],
    "invite_user": [Act("invite_user", tool("invite_user", email=lambda _: NEW["email"]),
                        targets=CUSTOMERS)],
    "resend_invitation": [Act("resend_invitation",
                              tool("resend_invitation", invitation_id=its_invitation),
                              targets=CUSTOMERS)],
    "revoke_invitation": [Act("revoke_invitation",
                              tool("revoke_invitation", invitation_id=its_invitation),
                              targets=CUSTOMERS)],
}  # fmt: skip
BY_TOKEN = [act for acts in [*CALLS.values(), *CALLED_BY_TOOL.values()] for act in acts]
# What changes nobody but the caller, or whoever has the mailed link; and no one at all.
OF_ONESELF = {
    "PATCH /auth/me",
    "POST /auth/logout",
    "POST /auth/logout-everywhere",
    "DELETE /auth/grants/{grant_id}",
    "POST /auth/signup",
    "POST /auth/complete-signup",
    "POST /auth/register",
    "POST /auth/login",
    "POST /auth/refresh",
    "POST /auth/passkeys/options",
    "POST /auth/passkeys/login",
    "POST /auth/factors/totp",
    "POST /auth/factors/totp/confirm",
    "POST /auth/factors/passkeys",
    "POST /auth/factors/passkeys/options",
    "PATCH /auth/factors/{factor_id}",
    "POST /auth/factors/{factor_id}/remove",
    "POST /auth/recovery-codes",
    "POST /lockouts/redeem",
    "POST /invitations/accept",
    "POST /password-changes",
    "POST /auth/email-changes",
    "POST /email-changes/redeem",
    "POST /email-changes/undo",
    "POST /password-changes/redeem",
    "POST /pages/link",
    "POST /oauth/register",
    "POST /oauth/token",
    "POST /oauth/revoke",
    "POST /oauth/authorize",
}
TOOLS_OF_ONESELF = {"update_profile"}


# ---- the table holds all that there is ----


@pytest.fixture
def boss(db):
    return User.objects.create_superuser("boss@example.com", None)


def request_by(user):
    request = RequestFactory().get("/admin/")
    request.user = user
    return request


def test_every_call_that_changes_something_is_in_the_table():
    paths = json.loads(document.document())["paths"]
    operations = {f"{method.upper()} {path}" for path, found in paths.items() for method in found}
    changing = {one for one in operations if one.split()[0] in {"POST", "PUT", "PATCH", "DELETE"}}

    assert changing - OF_ONESELF == CALLS.keys()


def test_every_tool_that_changes_something_is_in_the_table():
    changing = {name for name, tool in TOOLS.items() if not tool.read_only}

    assert changing - TOOLS_OF_ONESELF == CALLED_BY_TOOL.keys()


def test_every_action_of_the_back_office_is_in_the_table(boss):
    actions = {
        (model, name)
        for model, site in admin.site._registry.items()
        for name in site.get_actions(request_by(boss))
    }
    buttons = set(admin.site._registry[User].buttons)

    assert actions == ACTIONS.keys() | HARMLESS_ACTIONS
    assert buttons == ON_USERS.keys()


def test_every_page_that_saves_is_in_the_table(boss):
    request = request_by(boss)
    pages = {
        (model, what)
        for model, site in admin.site._registry.items()
        for what in ("add", "change", "delete")
        if getattr(site, f"has_{what}_permission")(request)
    }

    assert pages == ADMIN_PAGES.keys()


def test_no_admin_has_pages_of_its_own():
    for site in admin.site._registry.values():
        names = {str(pattern.name).rpartition("_")[2] for pattern in site.get_urls()}
        inlines = [*site.inlines, *getattr(site, "list_editable", ())]

        assert names <= {"changelist", "add", "history", "delete", "change", "None"}, site
        assert not inlines, site


# ---- the world in which it is tried ----


def surround(user):
    """What can be acted on about a person."""
    program = Client.objects.create(name="Testbench", redirect_uris=["https://testbench.example/"])
    Lockout.objects.create(email=user.email, failures=5, failed_at=timezone.now())
    Grant.objects.create(user=user, client=program, token_version=user.token_version)
    change = PasswordChange.objects.create(user=user, email=user.email)
    mail = {"kind": "passwords.passwordchange", "state": State.FAILED}
    OutgoingMail.objects.create(email=user.email, link_id=change.pk, **mail)
    Consultant.objects.create(account=user.account, user=user, name="profile")
    Factors.objects.create(user=user)
    User.objects.filter(pk=user.pk).update(has_second_factor=True)


@pytest.fixture
def world(new_user):
    customer, other, operators = (
        Account.objects.create(name="Analytical Engines"),
        Account.objects.create(name="Eavesdroppers"),
        Account.objects.operators(),
    )
    Account.objects.create(name="Third")
    for account in (customer, other, operators):
        Consultant.objects.create(account=account, name="free")
        inviter = new_user(account=account, role=Role.ADMIN)  # who stays an admin
        Invitation.objects.create(account=account, invited_by=inviter, email="open@example.com")
    people = {
        "member": new_user("member@example.com", account=customer),
        "admin": new_user("admin@example.com", account=customer, role=Role.ADMIN),
        "staff": new_user("staff@example.com", account=customer, is_staff=True),
        "superuser": new_user(
            "superuser@example.com", account=customer, is_staff=True, is_superuser=True
        ),
        "operators": new_user("operators@example.com", account=operators),
        "other": new_user("other@example.com", account=other),
    }
    for user in people.values():
        surround(user)
    return {
        "people": people,
        "companies": {"customer": customer, "operators": operators},
        "group": Group.objects.create(name="support"),
    }


def actor_of(world, kind, permissions=()):
    """The actor, whom the target `self` is."""
    home = "operators" if kind in {"superuser", "operators' admin"} else "customer"
    user = User.objects.create(
        email="actor@example.com",
        account=world["companies"][home],
        role=Role.MEMBER if kind == "member" else Role.ADMIN,
        is_staff=kind in {"staff", "superuser"},
        is_superuser=kind == "superuser",
    )
    for name in permissions:
        app, _, codename = name.partition(".")
        found = Permission.objects.get(content_type__app_label=app, codename=codename)
        user.user_permissions.add(found)
    surround(user)
    world["people"]["self"] = user
    return user


def target_of(world, act, name):
    if name == "group":
        return world["group"]
    return world["companies" if act.targets == CUSTOMERS else "people"].get(
        name, world["companies"].get(name)
    )


TABLES = [Account, User, Consultant, Lockout, Grant, Invitation, OutgoingMail, PasswordChange]
TABLES += [Group, User.user_permissions.through, User.groups.through]


def state():
    """All that an act may change, but for what is written about it."""
    return {
        model._meta.label: list(model._default_manager.order_by("pk").values()) for model in TABLES
    }


@contextmanager
def undone():
    """What is written in here is not, afterwards."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def prepare(act, actor, target):
    """Make the target as it ought to be for the act to change something; the actor stays."""
    if act.before.get("free"):
        Consultant.objects.filter(user=target).delete()
    elif act.before and target != actor:
        User.objects.filter(pk=target.pk).update(**act.before)


def changed(act, way, actor, targets):
    """Whether the act, taken on these one after another, changes anything."""
    with undone():
        for target in targets:
            prepare(act, actor, target)
        before = state()
        for target in targets:
            act.do(way(), actor, target)
        now = state()
    return before != now


def wrong(act, world, way, actor, expected):
    """Where the act's outcome is not the expected one. What is refused is tried on all of the
    targets before it is looked whether anything has changed: that takes longer than the act."""
    names = [name for name in act.targets if name != "self" or act.before.get("is_active", True)]
    targets = {name: target_of(world, act, name) for name in names}
    refused = [target for name, target in targets.items() if not expected(act, name)]
    found = []
    if refused and changed(act, way, actor, refused):
        found.append(f"{act.name}: not refused")
    for name, target in targets.items():
        if expected(act, name) and not changed(act, way, actor, [target]):
            found.append(f"{act.name} on {name}: refused")
    return found


# ---- trying it ----


def may_in_back_office(kind, held):
    def may(act, target):
        if kind not in act.who or (kind == "staff" and not act.opens(held)):
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
    return [line for act in BACK_OFFICE for line in wrong(act, world, again, actor, may)]


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


@pytest.mark.parametrize("role", [LOOKING, FIRST_LINE])
def test_roles_do_what_they_are_for_and_act_on_no_operator(world, role):
    assert try_back_office(world, "staff", wanted()[role]) == []


def test_all_other_permissions_together_open_nothing(world):
    assert try_back_office(world, "staff", every_permission() - OPENING) == []


def test_staff_with_every_permission_act_on_no_operator(world):
    assert try_back_office(world, "staff", every_permission()) == []


@pytest.mark.parametrize("kind", ["member", "admin", "operators' admin", "superuser"])
def test_back_office_is_for_staff_and_lets_superusers_do_all_but_rank_themselves(world, kind):
    assert try_back_office(world, kind, set()) == []


def may_by_token(kind):
    """Admins act within their company: a superuser of the operators' there alone, too."""

    def may(act, target):
        at_home = {"operators", "self"} if kind in {"superuser", "operators' admin"} else {
            "member", "admin", "staff", "superuser", "self", "customer"
        }  # fmt: skip
        if act.name in {
            "POST",
            "invite_user",
            "PATCH account",
        }:  # whose target is the caller's company
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
