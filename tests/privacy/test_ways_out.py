"""What each way out of the service leaves of a user: the table of docs/users.md."""

import secrets

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from apikeys.models import ApiKey
from assistants.models import Client, Grant
from audit.actors import COMMAND
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation, Status
from mail.links import EmailedLink, UserLink
from passwords.models import PasswordChange
from privacy.models import Erasure
from signin.devices import Device
from signin.factors.models import Factors
from signin.models import UnlockLink
from sso.models import Identity, IdentityProvider
from tests.clients import API, bearer
from tests.privacy.conftest import EMAIL, finish
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


def deactivate(user, admin):
    assert bearer(admin).patch(f"/users/{user.pk}", {"is_active": False}).status_code == 200


def deprovision(user, admin):
    directory = API(authorization=f"Bearer {ApiKey.objects.make(admin, 'Entra ID', ['scim'])[1]}")
    assert directory.delete(f"/scim/v2/Users/{user.pk}").status_code == 204


def change_address(user, admin):
    call_command("changeemail", user.email, "new@example.com")


def erase(user, admin):
    Erasure.objects.erase_user(user, COMMAND)
    finish()


def delete_company(user, admin):
    Erasure.objects.delete_company(user.account, COMMAND)


def delete_company_and_erase(user, admin):
    delete_company(user, admin)
    finish()


# What still works after each way out.
LEFT = {
    deactivate: {"undo link", "lockout", "identity", "factors", "API key"},
    deprovision: {"undo link", "lockout", "identity", "factors", "API key"},
    change_address: {"invitation", "identity", "factors", "API key"},
    erase: {"API key"},
    delete_company: {"undo link", "lockout", "factors"},
    delete_company_and_erase: set(),
}
for left in LEFT.values():
    left.add("another company's invitation")
LINKS = {
    PasswordChange: ("/password-changes/redeem", {"password": "another long one"}),
    EmailChange: ("/email-changes/redeem", {}),
    UnlockLink: ("/lockouts/redeem", {}),
    UndoEmailChange: ("/email-changes/undo", {}),
}


def make_belongings(user, other_admin):
    """Functions, by name, that tell whether something of the user still works."""
    client = Client.objects.register_client("Helper", ["https://helper.example.com/"])
    of_session = {"user": user, "token_version": user.token_version}
    grant = Grant.objects.create(client=client, redeemed_at=timezone.now(), **of_session)
    device = Device.objects.create(digest=secrets.token_hex(), **of_session)
    provider = IdentityProvider.objects.create(account=user.account, issuer="https://idp.example")
    Identity.objects.create(provider=provider, user=user, sub="1")
    Factors.objects.create(user=user)  # `has_second_factor` is false: links ask for no code
    Lockout.objects.create(email=user.email, failures=1, failed_at=timezone.now())
    links = {
        "password link": PasswordChange.objects.create(user=user, email=user.email),
        "unlock link": UnlockLink.objects.create(user=user, email=user.email),
        "change link": EmailChange.objects.create(
            email="next@example.com", old_email=user.email, **of_session
        ),
        "undo link": UndoEmailChange.objects.create(
            user=user, email="before@example.com", new_email=user.email
        ),
    }
    kinds = {kind for kind in EmailedLink.models_by_label().values() if issubclass(kind, UserLink)}
    assert {type(link) for link in links.values()} == kinds
    sent = Invitation.objects.invite(user, "friend@example.net")
    received = Invitation.objects.invite(other_admin, user.email)
    _, key = ApiKey.objects.make(user, "Payroll", ["users:read"])
    session, token = bearer(user), {link: link.token for link in links.values()}

    def works(link):
        path, body = LINKS[type(link)]
        client = API()
        if type(link) is EmailChange and User.objects.filter(pk=user.pk).exists():
            client = bearer(user)
        answer = client.post(path, body | {"token": token[link]})
        return answer.status_code in {200, 204}

    pending = Invitation.objects.in_status(Status.PENDING)
    return {
        "session": lambda: session.get("/auth/me").status_code == 200,
        "connected app": lambda: Grant.objects.live().filter(pk=grant.pk).exists(),
        "known device": lambda: Device.objects.live().filter(pk=device.pk).exists(),
        **{name: lambda link=link: works(link) for name, link in links.items()},
        "lockout": lambda: Lockout.objects.filter(email=EMAIL).exists(),
        "identity": lambda: Identity.objects.filter(user=user.pk).exists(),
        "factors": lambda: Factors.objects.filter(user=user.pk).exists(),
        "invitation": lambda: pending.filter(pk=sent.pk).exists(),
        "API key": lambda: API(authorization=f"Bearer {key}").get("/users").status_code == 200,
        "another company's invitation": lambda: pending.filter(pk=received.pk).exists(),
    }


def what_works(belongings):
    """The names of what works. Each is tried alone, since using one may end another."""
    working = set()
    for name, is_working in belongings.items():
        with transaction.atomic():
            if is_working():
                working.add(name)
            transaction.set_rollback(True)
    return working


@pytest.mark.parametrize("way", LEFT, ids=lambda way: way.__name__)
def test_way_out_closes_what_the_guide_says(ada, eve, zeb, way):
    belongings = make_belongings(zeb, eve)
    assert what_works(belongings) == belongings.keys()

    way(zeb, ada)

    assert what_works(belongings) == LEFT[way]
