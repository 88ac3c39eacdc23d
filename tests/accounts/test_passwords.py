"""The rules for new passwords, in each way to set one; none of them applies at log-in."""

import hashlib
import random
import sys
from io import StringIO

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import CommandError, call_command

from accounts.breaches import is_breached
from accounts.models import User
from accounts.validators import BreachedPasswordRule, CommonPasswordRule, PersonalPasswordRule
from invitations.models import Invitation
from passwords.models import PasswordChange
from signin.models import SignupLink
from tests.accounts.helpers import Terminal
from tests.cast import PASSWORD
from tests.clients import API
from tests.requests import ask
from tests.signin.helpers import NFC, NFD, PERSON

pytestmark = pytest.mark.django_db
CODES = {
    rule.message: rule.code
    for rule in (CommonPasswordRule, PersonalPasswordRule, BreachedPasswordRule)
}
CODES["This password is too short. It must contain at least 8 characters."] = "too_short"
LEAKED = "swordfish of the seven seas"
NEW = "cb1791@example.com"


def by_link(path, token, **body):
    answer = API().post(path, {"token": token} | body)
    if answer.status_code == 200:
        return []
    assert answer.json()["fields"].keys() == {"password"}
    codes = answer.json()["codes"]["password"]
    assert codes == [CODES[text] for text in answer.json()["fields"]["password"]]
    return codes


def sign_up(ada, password):
    link = SignupLink.objects.filter(email=NEW).first() or SignupLink.objects.create(email=NEW)
    return by_link("/auth/complete-signup", link.token, **PERSON | {"password": password})


def accept(ada, password):
    link = Invitation.objects.first() or Invitation.objects.invite(ada, NEW)
    return by_link("/invitations/accept", link.token, **PERSON | {"password": password})


def redeem(ada, password):
    link = PasswordChange.objects.first() or PasswordChange.objects.make_link(ada)
    return by_link("/password-changes/redeem", link.token, password=password)


@pytest.fixture(params=["sign-up", "invitation", "redeem", "changepassword", "createsuperuser"])
def set_password(request, ada, monkeypatch):
    """A function that sets a password in one way, for Ada Lovelace or Charles Babbage, and returns
    the codes of the rules that refuse it."""

    def at_a_prompt(password, command, *arguments, **options):
        monkeypatch.setattr("getpass.getpass", lambda *_, **__: password)
        errors = StringIO()
        try:
            call_command(command, *arguments, stdout=StringIO(), stderr=errors, **options)
        except (CommandError, EOFError) as error:
            if command == "changepassword":  # createsuperuser prompts again
                errors.write(str(error))
        return [CODES[line] for line in dict.fromkeys(errors.getvalue().splitlines())]

    def superuser(password):
        monkeypatch.setattr(sys, "stdin", Terminal())
        monkeypatch.setattr("builtins.input", no_answer)
        return at_a_prompt(password, "createsuperuser", email=NEW)

    return {
        "sign-up": lambda password: sign_up(ada, password),
        "invitation": lambda password: accept(ada, password),
        "redeem": lambda password: redeem(ada, password),
        "changepassword": lambda password: at_a_prompt(password, "changepassword", ada.email),
        "createsuperuser": superuser,
    }[request.param]


def no_answer(question):
    """End createsuperuser's question whether to set the password in spite of its errors."""
    raise EOFError


@pytest.mark.parametrize(
    ("password", "codes"),
    [("short", ["too_short"]), ("Password1", ["common"]), ("\uff30assword1", ["common"]),
     ("consulting-management", ["personal"]), ("...Consulting2026!", ["personal"]),
     ("a\u0308" * 7, ["too_short"]), ("x" * 256, []), (PASSWORD, [])],
)  # fmt: skip
def test_each_way_to_set_a_password_has_the_same_rules(set_password, password, codes):
    assert set_password(password) == codes


@pytest.mark.parametrize("password", [NFC, NFD])
def test_password_is_right_however_its_letters_are_composed(ada, set_password, password):
    assert set_password(password) == []

    user = User.objects.order_by("-created_at").first()
    for typed in (NFC, NFD):
        body = {"email": user.email, "password": typed}
        assert API().post("/auth/login", body).status_code == 200


@pytest.mark.parametrize(
    ("way", "passwords"),
    [
        (sign_up, ["!!Babbage1791", "cb1791cb", "differenceengines", "1Difference.Engines!"]),
        (accept, ["charles-babbage", "BABBAGE2026", "\uff22abbage2026", "Analytical_Engines"]),
        (redeem, ["Lovelace1815", "ada.lovelace", "adalovelace!", "analytical2026"]),
    ],
)
def test_password_from_the_users_names_is_refused_and_keeps_the_link(ada, way, passwords):
    for password in passwords:
        expected = [] if password == "cb1791cb" else ["personal"]
        if expected:
            assert way(ada, password) == expected, password

    assert way(ada, "babbage loves lovelace") == []


def test_password_is_checked_before_the_link(db):
    token = "x" * 64

    assert by_link("/password-changes/redeem", token, password="Password1") == ["common"]
    answer = API().post("/password-changes/redeem", {"token": token, "password": "Lovelace1815"})
    assert answer.json() == {"error": "invalid or expired token"}


def test_log_in_accepts_a_password_older_than_the_rules(ada):
    User.objects.filter(pk=ada.pk).update(password=make_password("Password1"))
    body = {"email": ada.email, "password": "Password1"}

    assert API().post("/auth/login", body).status_code == 200


@pytest.fixture(scope="module")
def lines():
    """100,000 hashes, sorted; those of LEAKED and NFC are among them."""
    generator = random.Random(1)
    digests = [hashlib.sha1(password.encode()).hexdigest() for password in (LEAKED, NFC)]
    digests += [generator.randbytes(20).hex() for _ in range(99_998)]
    return sorted(digest.upper() for digest in digests)


@pytest.mark.parametrize("form", ["{}\n", "{}:17\n", "{}:17\r\n"])
def test_breached_password_is_refused(set_password, settings, tmp_path, lines, form):
    path = tmp_path / "hashes"
    path.write_bytes("".join(form.format(line) for line in lines).encode())
    settings.PASSWORD_BREACH_FILE = str(path)
    rule = {"NAME": "accounts.validators.BreachedPasswordRule"}
    settings.AUTH_PASSWORD_VALIDATORS = [*settings.AUTH_PASSWORD_VALIDATORS, rule]

    for password in (LEAKED, NFC, NFD):
        assert set_password(password) == ["breached"]
    assert set_password(f"{LEAKED}!") == []


def test_each_hash_of_a_breach_file_is_found(tmp_path, lines):
    passwords = [f"password number {number}" for number in range(1000)]
    digests = {hashlib.sha1(password.encode()).hexdigest(): password for password in passwords}
    for count in (1, 2, 3, 999):
        path, breached = tmp_path / f"{count}", sorted(digests)[:count]
        path.write_text("\n".join(breached))
        for digest, password in digests.items():
            assert is_breached(password, str(path)) == (digest in breached)


def test_password_rules_follow_the_settings(new_service, tmp_path, lines):
    path = tmp_path / "hashes"
    path.write_text("\n".join(lines))
    service = new_service(PASSWORD_MIN_LENGTH="15", PASSWORD_BREACH_FILE=str(path)).start()
    body = {"token": "x" * 64, "password": "fourteen signs"}
    short = ask(service.url, "POST", "/password-changes/redeem", body)
    leaked = ask(service.url, "POST", "/password-changes/redeem", body | {"password": LEAKED})
    schemas = ask(service.url, "GET", "/schema").json()["components"]["schemas"]
    page = ask(service.url, "GET", "/change-password", accept="text/html").body.decode()

    assert short.json()["codes"] == {"password": ["too_short"]}
    assert leaked.json()["codes"] == {"password": ["breached"]}
    assert schemas["RedeemRequest"]["properties"]["password"]["minLength"] == 15
    assert 'minlength="15"' in page
    assert "At least 15 characters." in page
