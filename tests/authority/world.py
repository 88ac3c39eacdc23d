"""The world in which acts are tried, and whether one of them changes it."""

from contextlib import contextmanager

from django.contrib.auth.models import Group, Permission
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Account, Consultant, Role, User
from apikeys.models import ApiKey
from assistants.models import Client, Grant
from invitations.models import Invitation
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from scim.models import ScimUser
from signin.factors.models import Factors
from sso.models import Domain, IdentityProvider
from tests.authority.acts import CUSTOMERS
from throttling.models import Lockout, NetworkLimit


def surround(user):
    """What can be acted on about a person."""
    program = Client.objects.create(name="Testbench", redirect_uris=["https://testbench.example/"])
    NetworkLimit.objects.get_or_create(network="203.0.113.0/24", defaults={"limit": 20})
    Lockout.objects.create(email=user.email, failures=5, failed_at=timezone.now())
    Grant.objects.create(user=user, client=program, token_version=user.token_version)
    change = PasswordChange.objects.create(user=user, email=user.email)
    mail = {"kind": "passwords.passwordchange", "state": MailState.FAILED}
    OutgoingMail.objects.create(email=user.email, link_id=change.pk, **mail)
    Consultant.objects.create(account=user.account, user=user, name="profile")
    Factors.objects.create(user=user)
    User.objects.filter(pk=user.pk).update(has_second_factor=True)


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


TABLES = [Account, User, Consultant, Lockout, Grant, Invitation, OutgoingMail, PasswordChange]
TABLES += [ApiKey, ScimUser, IdentityProvider, Domain, NetworkLimit, Group]
TABLES += [User.user_permissions.through, User.groups.through]


DIGEST = "SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {} t"
STATE = " UNION ALL ".join(DIGEST.format(model._meta.db_table) for model in TABLES)


def state():
    """A digest of all that an act may change, but for what is written about it."""
    with connection.cursor() as cursor:
        cursor.execute(STATE)
        return cursor.fetchall()


@contextmanager
def undone():
    """What is written in here is not, afterwards."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def prepare(act, actor, target):
    """Make the target as it ought to be for the act to change something; the actor stays."""
    if "stopped" in act.before:
        if act.before["stopped"]:
            IdentityProvider.objects.update(active=False, stopped_at=timezone.now())
    elif act.before.get("free"):
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


def wrong(act, world, way, actor, expected, *, is_open=True):
    """Where the act's outcome is not the expected one. What is refused is tried on all of the
    targets before it is looked whether anything has changed; on the first alone if the act is
    closed to the actor, whoever the target is."""
    names = [name for name in act.targets if name != "self" or act.before.get("is_active", True)]
    if not is_open:
        names = names[:1]
    companies = world["companies"]
    known = companies if act.targets == CUSTOMERS else companies | world["people"]
    targets = {name: known[name] for name in names}
    refused = [target for name, target in targets.items() if not expected(act, name)]
    found = []
    if refused and changed(act, way, actor, refused):
        found.append(f"{act.name}: not refused")
    for name, target in targets.items():
        if expected(act, name) and not changed(act, way, actor, [target]):
            found.append(f"{act.name} on {name}: refused, or changes a table that TABLES lacks")
    return found
