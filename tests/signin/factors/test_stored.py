"""What the database holds of second factors signs nobody in."""

import base64
import io

import pytest
from django.core.management import call_command

from signin.factors.models import Factors, Passkey
from tests.signin.factors.helpers import SECRET, code, log_in, with_app, with_passkey

pytestmark = pytest.mark.django_db


def test_database_alone_signs_nobody_in(ada):
    key = with_passkey(ada)
    Factors.objects.get().add_totp(SECRET, 0, "")
    codes = Factors.objects.get().renew_codes()
    dump = io.StringIO()
    call_command("dumpdata", stdout=dump)
    stored = dump.getvalue().encode()
    stored += b"".join(bytes(passkey.credential) for passkey in Passkey.objects.all())
    stored += Factors.objects.get().totp_secret.encode()

    private = key.key.private_numbers().private_value.to_bytes(32, "big")
    secrets = [SECRET, private, *[base64.b32decode(code.replace("-", "")) for code in codes]]
    encoders = [bytes, base64.b16encode, base64.b32encode]
    encoders += [base64.b64encode, base64.urlsafe_b64encode]
    spellings = [encode(secret).rstrip(b"=") for secret in secrets for encode in encoders]
    assert [secret for secret in spellings if secret.lower() in stored.lower()] == []
    assert [code for code in codes if code.encode() in stored] == []


def test_app_secret_in_another_users_row_is_useless(api, ada, bob):
    with_app(ada)
    with_app(bob)
    Factors.objects.filter(user=bob).update(totp_secret=Factors.objects.get(user=ada).totp_secret)

    assert log_in(api, bob, code=code())[1]["error"] == "wrong code"
