"""Every call that signs somebody in passes the one check; the database's bytes sign nobody in."""

import base64
import io

import pytest
from django.core.management import call_command
from django.test import Client

from passwords.models import PasswordChange
from signin.factors.models import Factors, Passkey, RecoveryCode
from tests.conftest import API, PASSWORD
from tests.signin.factors.conftest import SECRET, code, log_in, with_app, with_passkey

pytestmark = pytest.mark.django_db


def consent(email):
    from assistants.models import Client as Assistant
    from tests.assistants.conftest import REDIRECT, Person, request_of

    made = Assistant.objects.create(name="A", redirect_uris=[REDIRECT])
    return Person(request_of(made)).sign_in(email)


def ways(user):
    link = PasswordChange.objects.make_link(user)
    login = {"email": user.email, "password": PASSWORD}
    new = {"token": link.token, "password": "a new password"}
    admin = {"username": user.email, "password": PASSWORD}
    return {
        "auth/login": lambda: API().post("/auth/login", login),
        "password-changes/redeem": lambda: API().post("/password-changes/redeem", new),
        "oauth/authorize": lambda: consent(user.email),
        "admin/login/": lambda: Client().post("/admin/login/", admin),
    }


@pytest.mark.parametrize(
    "path", ["auth/login", "password-changes/redeem", "oauth/authorize", "admin/login/"]
)
def test_every_way_in_asks_for_the_factor(path, new_user):
    user = new_user(is_staff=True)
    with_app(user)

    answer = ways(user)[path]()

    said = answer.content.decode()
    assert "second factor required" in said or "one-time-code" in said
    assert not {"service_refresh", "sessionid"} & set(answer.cookies)


def test_database_alone_signs_nobody_in(ada):
    key = with_passkey(ada)
    Factors.objects.get().add_totp(SECRET, 0, "")
    codes = RecoveryCode.objects.renew_codes(Factors.objects.get())
    dump = io.StringIO()
    call_command("dumpdata", stdout=dump)
    stored = dump.getvalue().encode()
    stored += b"".join(bytes(one.credential) for one in Passkey.objects.all())
    stored += Factors.objects.get().totp_secret.encode()

    private = key.key.private_numbers().private_value.to_bytes(32, "big")
    secrets = [SECRET, private, *[base64.b32decode(one.replace("-", "")) for one in codes]]
    encoders = [bytes, base64.b16encode, base64.b32encode]
    encoders += [base64.b64encode, base64.urlsafe_b64encode]
    spellings = [encode(secret).rstrip(b"=") for secret in secrets for encode in encoders]
    assert [one for one in spellings if one.lower() in stored.lower()] == []
    assert [one for one in codes if one.encode() in stored] == []


def test_secret_in_anothers_row_is_worth_nothing(api, ada, bob):
    with_app(ada)
    with_app(bob)
    Factors.objects.filter(user=bob).update(totp_secret=Factors.objects.get(user=ada).totp_secret)

    assert log_in(api, bob, code=code())[1]["error"] == "wrong code"
