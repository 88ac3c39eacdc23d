"""SECRET_KEY is changed in the guide's order, and what was signed meanwhile holds.

The new secret is a fallback everywhere first, then it signs and the older one is the fallback, then
that one goes.
"""

import email
import email.policy
import re
import uuid
from base64 import b32decode

import pytest
from django.core import signing
from django.test import Client as Browser

from accounts.models import Account, User
from assistants.models import Client, Grant
from passwords.models import PasswordChange
from signin.factors.models import Factors, RecoveryCode
from tests.assistants.conftest import (
    CHALLENGE,
    REDIRECT,
    Person,
    let_in,
    redeem,
    refresh,
    request_of,
)
from tests.conftest import API, PASSWORD, bearer, query
from tests.requests import ask
from tests.signin.factors import conftest as factors
from tests.signin.factors.authenticator import ORIGIN, Authenticator
from tests.signin.factors.conftest import PROOF, challenge, log_in, with_app, with_passkey

OLD, NEW = "the-older-secret-of-the-service" * 2, "the-newer-secret-of-the-service" * 2
FIRST, SECOND, THIRD = (OLD, [NEW]), (NEW, [OLD]), (NEW, [])


@pytest.fixture
def at(settings):
    """Makes this process a host at that step."""

    def step(secrets):
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = secrets

    return step


def mailed_link(ada):
    token = PasswordChange.objects.create(user=ada, email=ada.email).token
    body = {"token": token, "password": "another good one"}
    return lambda: API().post("/password-changes/redeem", body).status_code == 200


def admin_session(ada):
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    browser = Browser()
    form = {"username": ada.email, "password": PASSWORD, "next": "/admin/"}
    assert browser.post("/admin/login/", form).status_code == 302
    return lambda: browser.get("/admin/").status_code == 200


def assistant():
    return Client.objects.create(name="Testbench", redirect_uris=[REDIRECT])


def consent_ticket(ada):
    person = Person(request_of(assistant()))
    person.sign_in(ada.email)
    return lambda: person.decide("allow").status_code == 302


def code(ada):
    client = assistant()
    given = let_in(client, ada)
    return lambda: redeem(API(), client, given).status_code == 200


def refresh_token(ada):
    client = assistant()
    grant = Grant.objects.create(
        user=ada,
        client=client,
        redirect_uri=REDIRECT,
        code_challenge=CHALLENGE.decode(),
        token_version=ada.token_version,
    )
    token = redeem(API(), client, grant.code).json()["refresh_token"]
    return lambda: refresh(API(), client, token).status_code == 200


def passkeys_challenge(ada):
    body = {"credential": with_passkey(ada).sign(challenge(API()))}
    return lambda: API().post("/auth/passkeys/login", body).status_code == 200


def app(ada):
    with_app(ada)
    return lambda: log_in(API(), ada, code=factors.code())[0] == 200


def app_that_is_being_added(ada):
    begun = bearer(ada).post("/auth/factors/totp", PROOF).json()
    body = {"id": begun["id"], "code": factors.code(0, b32decode(begun["secret"]))}
    return lambda: bearer(ada).post("/auth/factors/totp/confirm", body).status_code == 200


def enrolment(ada):
    Account.objects.update(second_factor="required")
    api = API(authorization=f"Bearer {log_in(API(), ada)[1]['enrolment']}")
    return lambda: api.post("/auth/factors/totp", {}).status_code == 201


def sealed_page(ada):
    with_passkey(ada)
    recovery = RecoveryCode.objects.renew(Factors.objects.get())
    person = Person(request_of(assistant()))
    assert "sealed" in person.sign_in(ada.email).content.decode()
    return lambda: person.post({"code": recovery[0]}).status_code == 200


SIGNED = [mailed_link, admin_session, consent_ticket, code, refresh_token]
SIGNED += [passkeys_challenge, app, app_that_is_being_added, enrolment, sealed_page]


@pytest.mark.parametrize("make", SIGNED)
@pytest.mark.parametrize(
    ("made_at", "shown_at", "holds"),
    [
        (FIRST, SECOND, True),
        (SECOND, FIRST, True),  # to a host that is a step behind
        (SECOND, THIRD, True),
        ((OLD, []), FIRST, True),
        ((OLD, []), THIRD, False),
        ((NEW, []), (OLD, []), False),
    ],
)
def test_what_is_signed_holds_a_step_before_and_behind(at, ada, make, made_at, shown_at, holds):
    at(made_at)
    shown = make(ada)

    at(shown_at)

    assert shown() is holds


def test_ticket_with_a_time_still_ends(at, time_machine):
    at(FIRST)
    time_machine.move_to(1_900_000_000, tick=False)
    signed = signing.TimestampSigner(salt="salt").sign("right")
    at(SECOND)
    assert signing.TimestampSigner(salt="salt").unsign(signed, max_age=60) == "right"
    time_machine.shift(61)

    with pytest.raises(signing.SignatureExpired):
        signing.TimestampSigner(salt="salt").unsign(signed, max_age=60)


def restart(host, secrets):
    host.server.terminate()
    host.server.wait(20)
    secret, fallbacks = secrets
    host.environment |= {"SECRET_KEY": secret, "SECRET_KEY_FALLBACKS": ",".join(fallbacks)}
    host.start()


def invited(host, bearer, number=1):
    """The tokens that the host's mail worker mails to that many people."""
    addresses = [f"{uuid.uuid4().hex}@example.com" for _ in range(number)]
    for address in addresses:
        assert ask(host.url, "POST", "/invitations", {"email": address}, **bearer).status == 201
    host.manage("sendmail", "--once")
    texts = "".join(path.read_text() for path in host.folder.glob("mails/*.log"))
    found = []
    for address in addresses:
        mail = next(mail for mail in texts.split("-" * 79 + "\n") if f"To: {address}" in mail)
        body = email.message_from_string(mail, policy=email.policy.default).get_body(("plain",))
        found.append(re.search(r"#token=(\S+)", body.get_content())[1])
    return found


def accepts(host, token):
    person = {"first_name": "A", "last_name": "B", "password": PASSWORD}
    body = {"token": token} | person
    return ask(host.url, "POST", "/invitations/accept", body).status == 200


@pytest.fixture
def hosts(new_service):
    """Two that share all but the folder; Ada is a superuser there."""
    person = {"DJANGO_SUPERUSER_EMAIL": "ada@example.com", "DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    one = new_service(SECRET_KEY=OLD, FRONTEND_URL=ORIGIN, RATE_LIMIT_CREDENTIAL="1000", **person)
    names = ("DATABASE_URL", "FRONTEND_URL", "RATE_LIMIT_CREDENTIAL")
    shared = {name: one.environment[name] for name in names}
    two = new_service(SECRET_KEY=OLD, **shared)
    one.manage("createsuperuser", "--noinput")
    return one.start(), two.start()


LOGIN = {"email": "ada@example.com", "password": PASSWORD}


def signed_in(host):
    token = ask(host.url, "POST", "/auth/login", LOGIN).json()["access_token"]
    return {"Authorization": f"Bearer {token}"}


def add_factors(one, two, bearer):
    """An app that is begun at one host and confirmed at the other, and a passkey likewise."""
    key = Authenticator()
    begun = ask(one.url, "POST", "/auth/factors/totp", PROOF, **bearer).json()
    restart(two, FIRST)
    secret = b32decode(begun["secret"])
    body = {"id": begun["id"], "code": factors.code(0, secret)}
    added = ask(two.url, "POST", "/auth/factors/totp/confirm", body, **bearer)
    proof = PROOF | {"code": added.json()["recovery_codes"][0]}
    bearer = {"Authorization": f"Bearer {added.json()['session']['access_token']}"}
    options = ask(one.url, "POST", "/auth/factors/passkeys/options", proof, **bearer).json()
    made = {"credential": key.register(options)}
    assert added.status == 200
    assert ask(two.url, "POST", "/auth/factors/passkeys", made, **bearer).status == 201
    return secret, key, bearer


def test_two_hosts_and_their_mail_workers_go_the_whole_way(hosts):
    """One after the other; what either mails at any step is good at the other, before and after
    its next step. Factors are good at both, and after the last step: each code that is shown has
    its secret encrypted anew."""
    one, two = hosts
    secret, key, bearer = add_factors(one, two, signed_in(one))

    for step in (FIRST, SECOND, THIRD):
        for host, other in ((one, two), (two, one)):
            if step != THIRD:
                before = invited(host, bearer, 2)
            asked = ask(host.url, "POST", "/auth/passkeys/options", {}).json()
            restart(host, step)
            [after] = invited(host, bearer)
            if step != THIRD:
                assert [accepts(host, before[0]), accepts(other, before[1])] == [True, True]
            assert accepts(other, after)
            body = {"credential": key.sign(asked)}
            assert ask(other.url, "POST", "/auth/passkeys/login", body).status == 200
            for place in (other, host):
                query(one.environment["DATABASE_URL"], "UPDATE signin_factors SET totp_step = 0")
                code = {"code": factors.code(0, secret)}
                assert ask(place.url, "POST", "/auth/login", LOGIN | code).status == 200
