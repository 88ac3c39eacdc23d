"""Which passwords are refused, by each of the ways to set one, and at no log-in."""

import hashlib
import random
import sys
from io import StringIO

import pytest
from django.contrib.auth.hashers import make_password
from django.core.management import CommandError, call_command
from django.test import override_settings

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
from tests.signin.conftest import NFC, NFD, PERSON

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
    """Sets a password in one way, for a person called Ada Lovelace or Charles Babbage; the codes
    of what is wrong with it."""

    def at_a_prompt(password, command, *words, **options):
        monkeypatch.setattr("getpass.getpass", lambda *_, **__: password)
        said = StringIO()
        try:
            call_command(command, *words, stdout=StringIO(), stderr=said, **options)
        except (CommandError, EOFError) as error:
            if command == "changepassword":  # the other asks again
                said.write(str(error))
        return [CODES[line] for line in dict.fromkeys(said.getvalue().splitlines())]

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
    """To whether the password shall be set all the same."""
    raise EOFError


@pytest.mark.parametrize(
    ("password", "codes"),
    [("short", ["too_short"]), ("Password1", ["common"]), ("\uff30assword1", ["common"]),
     ("consulting-management", ["personal"]), ("...Consulting2026!", ["personal"]),
     ("a\u0308" * 7, ["too_short"]), ("x" * 256, []), (PASSWORD, [])],
)  # fmt: skip
def test_every_way_refuses_the_same(set_password, password, codes):
    assert set_password(password) == codes


@pytest.mark.parametrize("password", [NFC, NFD])
def test_password_is_right_however_its_letters_are_composed(ada, set_password, password):
    assert set_password(password) == []

    user = User.objects.order_by("-created_at").first()
    for typed in (NFC, NFD):
        body = {"email": user.email, "password": typed}
        assert API().post("/auth/login", body).status_code == 200


@pytest.mark.parametrize(
    ("way", "refused"),
    [
        (sign_up, ["!!Babbage1791", "cb1791cb", "differenceengines", "1Difference.Engines!"]),
        (accept, ["charles-babbage", "BABBAGE2026", "\uff22abbage2026", "Analytical_Engines"]),
        (redeem, ["Lovelace1815", "ada.lovelace", "adalovelace!", "analytical2026"]),
    ],
)
def test_names_of_ones_own_are_refused_and_the_link_still_works(ada, way, refused):
    for password in refused:
        expected = [] if password == "cb1791cb" else ["personal"]
        if expected:
            assert way(ada, password) == expected, password

    assert way(ada, "babbage loves lovelace") == []


def test_unknown_link_learns_of_the_password_first(db):
    token = "x" * 64

    assert by_link("/password-changes/redeem", token, password="Password1") == ["common"]
    answer = API().post("/password-changes/redeem", {"token": token, "password": "Lovelace1815"})
    assert answer.json() == {"error": "invalid or expired token"}


@pytest.mark.parametrize("password", [NFC, NFD])
def test_breached_password_is_refused_however_it_is_composed(set_password, tmp_path, password):
    file = tmp_path / "breaches"
    file.write_text(hashlib.sha1(NFC.encode()).hexdigest().upper())
    rules = [{"NAME": "accounts.validators.BreachedPasswordRule"}]
    with override_settings(PASSWORD_BREACH_FILE=str(file), AUTH_PASSWORD_VALIDATORS=rules):
        assert set_password(password) == ["breached"]


def test_log_in_takes_what_was_set_before(ada):
    User.objects.filter(pk=ada.pk).update(password=make_password("Password1"))
    body = {"email": ada.email, "password": "Password1"}

    assert API().post("/auth/login", body).status_code == 200


def hashes(count):
    """Lines for as many passwords, sorted; the leaked one is among them."""
    some = random.Random(1)
    found = {hashlib.sha1(LEAKED.encode()).hexdigest().upper()}
    while len(found) < count:
        found.add(some.randbytes(20).hex().upper())
    return sorted(found)


@pytest.fixture(scope="module")
def lines():
    return hashes(100_000)


@pytest.mark.parametrize("form", ["{}\n", "{}:17\n", "{}:17\r\n"])
def test_breached_password_is_refused(set_password, settings, tmp_path, lines, form):
    path = tmp_path / "hashes"
    path.write_bytes("".join(form.format(line) for line in lines).encode())
    settings.PASSWORD_BREACH_FILE = str(path)
    rules = settings.AUTH_PASSWORD_VALIDATORS
    settings.AUTH_PASSWORD_VALIDATORS = [
        *rules,
        {"NAME": "accounts.validators.BreachedPasswordRule"},
    ]

    assert set_password(LEAKED) == ["breached"]
    assert set_password(f"{LEAKED}!") == []


def test_every_hash_of_a_file_is_found(tmp_path, lines):
    words = [f"password number {number}" for number in range(1000)]
    mine = sorted(hashlib.sha1(word.encode()).hexdigest() for word in words)
    for count in (1, 2, 3, 999):
        path = tmp_path / f"{count}"
        path.write_text("\n".join(mine[:count]))
        known = {*mine[:count]}
        for word in words:
            assert is_breached(word, str(path)) == (
                hashlib.sha1(word.encode()).hexdigest() in known
            )


def test_service_follows_its_settings(new_service, tmp_path, lines):
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
