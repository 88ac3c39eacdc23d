"""Somebody who has left a trace in every table that there is."""

import contextlib
import itertools
import threading

import pytest
from django.db import connection as database
from django.utils import timezone

from accounts.models import Consultant, Role, User
from assistants.models import Client, Grant
from audit.actors import COMMAND
from audit.models import AuditEvent
from emailchanges.models import EmailChange
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from privacy.models import REQUESTS_HAVE_ENDED, Erasure
from scim.models import ScimUser
from signin.models import SignupLink, UnlockLink
from sso.models import Identity, IdentityProvider
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.races import close_connections
from throttling.models import Lockout
from worker.rounds import Worker, run_round_jobs

EMAIL = "zebulon@example.com"
NAMES = ("Zebulon", "Quatermass")


def finish():
    """Let the worker do what there is to do, the requests of the erasure having ended."""
    Worker().work_round()
    for _ in range(1000):  # an erasure that keeps failing is logged, and stays
        if not (run_round_jobs() or Erasure.objects.filter(done_at=None).exists()):
            break
        Erasure.objects.update(erased_at=timezone.now() - REQUESTS_HAVE_ENDED)
    else:
        pytest.fail("an erasure does not end")
    Worker().work_round()


def statuses_while_erased(new_user, new_call):
    """The statuses of a user's call, when the user is erased before its first query, in another
    call before the second, and so on. Where the call holds a lock, the erasure waits for it.

    `new_call` gets a new user and returns the call.
    """
    statuses = []
    for number in itertools.count(1):
        user = new_user(f"user{number}@example.com")
        call, queries, erasing = new_call(user), [], []

        def erase(user=user):
            try:
                Erasure.objects.erase_user(user, COMMAND)
            finally:
                close_connections()

        def watch(execute, *args, number=number, queries=queries, erasing=erasing, erase=erase):
            queries.append(args)
            if len(queries) == number:
                erasing.append(threading.Thread(target=erase))
                erasing[0].start()
                erasing[0].join(0.3)
            return execute(*args)

        with database.execute_wrapper(watch):
            statuses.append(call().status_code)
        if not erasing:
            return statuses
        erasing[0].join()
        assert not User.objects.filter(pk=user.pk).exists()
    return statuses


@contextlib.contextmanager
def unchanged(events):
    """These events of the audit log are as they were, once the block is over."""
    kept = list(events.order_by("pk").values())
    yield
    rows = AuditEvent.objects.filter(pk__in=[row["id"] for row in kept]).order_by("pk")
    assert list(rows.values()) == kept


@pytest.fixture
def zeb(ada, new_user):
    """An admin of Ada's company."""
    first, last = NAMES
    return new_user(EMAIL, first_name=first, last_name=last, role=Role.ADMIN, account=ada.account)


@pytest.fixture
def traces(zeb, ada, bob, eve, operator):
    """All that zeb has done, and all that was done to zeb."""
    api, as_zeb = API(), bearer(zeb)
    api.post("/auth/login", {"email": EMAIL, "password": PASSWORD})
    api.post("/password-changes", {"email": EMAIL})
    as_zeb.post("/auth/email-changes", {"email": "z@example.net", "password": PASSWORD})
    as_zeb.patch("/auth/me", {"settings": {"language": "sv"}})
    as_zeb.post("/invitations", {"email": "friend@example.net"})
    as_zeb.patch(f"/users/{bob.pk}", {"role": "admin"})
    bearer(ada).patch(f"/users/{zeb.pk}", {"role": "member"})
    bearer(ada).patch(f"/users/{zeb.pk}", {"role": "admin"})
    as_zeb.post("/invitations", {"email": "later@example.net"})
    as_zeb.get("/auth/me/data").getvalue()
    api.post("/auth/login", {"email": EMAIL, "password": "wrong password"})
    Invitation.objects.invite(eve, EMAIL)
    Worker().work_round()
    UnlockLink.objects.create(user=zeb, email=EMAIL)
    SignupLink.objects.create(email=EMAIL)
    EmailChange.objects.create(user=zeb, email=EMAIL, old_email="before@example.com")
    assert PasswordChange.objects.filter(user=zeb).exists()
    assert Lockout.objects.filter(email=EMAIL).exists()
    assert OutgoingMail.objects.filter(email=EMAIL).exists()
    client = Client.objects.register_client("Helper", ["https://helper.example.com/"])
    Grant.objects.create(user=zeb, client=client, token_version=zeb.token_version)
    idp = IdentityProvider.objects.create(account=ada.account, issuer="https://idp.example")
    Identity.objects.create(provider=idp, user=zeb, sub=EMAIL)
    ScimUser.objects.create(account=ada.account, user=zeb, external_id="zebulon")
    Consultant.objects.create(account=ada.account, user=zeb, name=" ".join(NAMES))
    Consultant.objects.create(account=ada.account, manager=zeb, name="Somebody")
    page = f"/admin/accounts/user/{zeb.pk}/change/"
    data = {"email": EMAIL, "first_name": NAMES[0], "last_name": NAMES[1], "language": "de"}
    operator.post(page, data)
    return User.objects.get(pk=zeb.pk)
