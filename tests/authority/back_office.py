"""The acts of the back office: by lists, by buttons and by forms."""

from django.contrib.auth.models import Permission
from django.urls import reverse

from accounts.models import Account, Consultant, Role, User
from apikeys.models import ApiKey
from assistants.models import Client, Grant
from audit.models import AuditEvent
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from sso.models import IdentityProvider
from tests.authority.acts import ANYBODY, CUSTOMERS, NOBODY, SUPERUSER, Act, perm
from throttling.models import Lockout, NetworkLimit


def page_of(model, what, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{what}", args=args)


def things(model, target):
    """The rows of a model that are the target, or are about it and nobody else."""
    if isinstance(target, model):
        return [target]
    if model is NetworkLimit:  # about nobody
        return list(NetworkLimit.objects.all())
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


def action(model, name, *fields, **more):
    """An entry of ACTIONS; the further arguments are those of Act."""
    label = f"{model._meta.verbose_name}: {name}"
    return {(model, name): Act(label, take_action(model, name), *fields, **more)}


def press(name, model=None):
    """A button of a page, with what it asks to be typed."""

    def do(browser, actor, target):
        row = things(model or type(target), target)[0]
        body = {"_do": name, "post": "yes", "confirmed": str(row)}
        return browser.post(page_of(type(row), "change", row.pk), body)

    return do


def save(label, model, form, *fields, **more):
    """Post the page of the target's row. Like `add` and `delete`, takes the other fields of Act."""

    def do(browser, actor, target):
        row = things(model, target)[0]
        return browser.post(page_of(model, "change", row.pk), form(target))

    return Act(label, do, *fields, **more)


def add(label, model, form, *fields, **more):
    def do(browser, actor, target):
        return browser.post(page_of(model, "add"), form(target))

    return Act(label, do, *fields, **more)


def delete(label, model, *fields, **more):
    def do(browser, actor, target):
        row = things(model, target)[0]
        return browser.post(page_of(model, "delete", row.pk), {"post": "yes"})

    return Act(label, do, *fields, **more)


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
DELETE_CONSULTANT = keys(("delete", Consultant), ("view", Consultant))
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


def on_invitations(way, do):
    return {
        (Invitation, name): Act(
            f"{way}: {name} invitation",
            do(name),
            INVITE | keys(("view", Invitation)),
            targets=CUSTOMERS,
            or_keys=keys(("change", Invitation)),
        )
        for name in ("resend", "revoke")
    }


ACTIONS = {
    **action(Lockout, "clear", keys(("change", Lockout)), SUPERUSER),
    **action(OutgoingMail, "try_again", keys(("change", OutgoingMail)), SUPERUSER),
    **action(IdentityProvider, "stop", who=SUPERUSER, targets=CUSTOMERS, before={"stopped": False}),
    **action(IdentityProvider, "allow", who=SUPERUSER, targets=CUSTOMERS, before={"stopped": True}),
    **action(ApiKey, "revoke", keys(("change", ApiKey)), targets=CUSTOMERS),
    **action(Grant, "end", keys(("change", Grant))),
    **action(Client, "end_grants", keys(("change", Grant), ("view", Client))),
    **action(Consultant, "delete_selected", DELETE_CONSULTANT, SUPERUSER),
    **action(NetworkLimit, "delete_selected", who=SUPERUSER),
    **on_invitations("list", lambda name: take_action(Invitation, name)),
}
ACTIONS |= {
    (User, act.name.removeprefix("list: ")): act
    for act in on_user("list", lambda name: take_action(User, name))
}
HARMLESS_ACTIONS = {(AuditEvent, "export")}

CHANGE_CONSULTANT = keys(("change", Consultant))
NEW_LIMIT = {"network": "198.51.100.0/24", "limit": "50"}
OTHER_LIMIT = {"network": "203.0.113.0/24", "limit": "50"}
ADMIN_PAGES = {
    (Account, "add"): [
        add("company: add", Account, lambda _: {"name": "New"}, keys(("add", Account)),
            targets=("customer",)),
    ],
    (Account, "change"): [
        save("company: rename", Account, lambda _: {"name": "Renamed"}, keys(("change", Account)),
             targets=CUSTOMERS),
    ],
    (User, "change"): [
        save("person: rename", User, person_form, CHANGE_USER),
        save("person: e-mail address", User,
             lambda user: same_person(user) | {"email": "new@example.net"}, who=NOBODY),
        save("person: privileges", User, privileges, own=NOBODY, who=SUPERUSER),
    ],
    (User, "add"): [add("person: add", User, person_form, who=NOBODY)],
    (Consultant, "add"): [
        add("consultant: add", Consultant, lambda account: {"account": account.pk, "name": "New"},
            keys(("add", Consultant)), targets=CUSTOMERS),
    ],
    (Consultant, "change"): [
        save("consultant: rename", Consultant, lambda user: {"name": "New", "user": user.pk},
             CHANGE_CONSULTANT, SUPERUSER),
        Act("consultant: link", link("user"), CHANGE_CONSULTANT, SUPERUSER, before={"free": True}),
        Act("consultant: manager", link("manager"), CHANGE_CONSULTANT, SUPERUSER),
    ],
    (Consultant, "delete"): [
        delete("consultant: delete", Consultant, keys(("delete", Consultant)), SUPERUSER),
    ],
    (NetworkLimit, "add"): [add("limit: add", NetworkLimit, lambda _: NEW_LIMIT, who=SUPERUSER)],
    (NetworkLimit, "change"): [
        save("limit: change", NetworkLimit, lambda _: OTHER_LIMIT, who=SUPERUSER),
    ],
    (NetworkLimit, "delete"): [delete("limit: delete", NetworkLimit, who=SUPERUSER)],
    (Invitation, "add"): [
        add("invite member", Invitation, invitation("member"), INVITE, targets=CUSTOMERS),
        add("invite admin", Invitation, invitation("admin"), INVITE | CHANGE_USER,
            targets=CUSTOMERS),
        Act("invite whom", invite_the_target, INVITE, SUPERUSER),
    ],
}  # fmt: skip
BUTTONS = {
    (User, "erase"): Act("button: erase", press("erase"), own=NOBODY, who=SUPERUSER),
    (Account, "erase"): Act(
        "button: delete company",
        press("erase"),
        who=SUPERUSER,
        targets=CUSTOMERS,
        never={"operators"},
    ),
}
BUTTONS |= on_invitations("button", lambda name: press(name, Invitation))
BUTTONS |= {(User, act.name.removeprefix("button: ")): act for act in on_user("button", press)}
BACK_OFFICE = [*ACTIONS.values(), *BUTTONS.values()]
BACK_OFFICE += [act for acts in ADMIN_PAGES.values() for act in acts]
