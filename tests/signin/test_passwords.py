"""Every hash of a password is made behind one door, which counts, locks, queues and records."""

import ast
from pathlib import Path

import pytest
from django.contrib.auth import authenticate
from django.test import Client, RequestFactory

from accounts.models import User
from assistants.models import Client as Assistant
from audit.models import Record
from invitations.models import Invitation
from passwords.models import PasswordChange
from signin import backends, hashers
from signin.models import SignupLink
from tests import servers
from tests.assistants.conftest import Person, request_of
from tests.conftest import API, PASSWORD
from throttling.models import Lockout
from throttling.throttles import PublicThrottle

pytestmark = pytest.mark.django_db

# What hashes a password, or leads Django to; `authenticate` ends in signin.backends.
HASHING = {"check_password", "acheck_password", "make_password", "set_password", "argon2id"}
HASHING |= {"verify_password", "get_hasher", "identify_hasher", "create_user", "create_superuser"}
HASHING |= {"PasswordChangeForm", "AdminPasswordChangeForm", "SetPasswordForm", "SetPasswordMixin"}
HASHING |= {"PasswordChangeView", "PasswordResetConfirmView", "BaseUserCreationForm"}
PLACES = {
    "signin/backends.py": {"check_password", "make_password"},
    # What the commands createsuperuser and changepassword call.
    "accounts/models/users.py": {"set_password", "create_user"},
    "signin/hashers.py": {"argon2id"},
}


def production():
    folders = [folder.parent for folder in Path().glob("*/__init__.py")]
    ours = [folder for folder in folders if folder.name not in {"tests", "benchmarks"}]
    return [file for folder in ours for file in folder.rglob("*.py")]


def names_in(file):
    """The names that the code uses or imports; one that it defines is none of them."""
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    used = {getattr(node, "id", getattr(node, "attr", "")) for node in nodes}
    return used | {node.name for node in nodes if isinstance(node, ast.alias)}


def test_nothing_else_hashes_a_password():
    found = {str(file): names_in(file) & HASHING for file in production()}

    assert len(found) > 100
    assert {file: names for file, names in found.items() if names} == PLACES


def test_door_comes_before_the_hash():
    tree = ast.parse(Path(backends.__file__).read_text(encoding="utf-8"))
    code = {one.name: ast.unparse(one) for one in tree.body if isinstance(one, ast.FunctionDef)}
    hashing = [name for name in code if {"= check_password(", "make_password("} & parts(code[name])]

    # The dummy is nobody's, and a renewal follows a right password.
    assert set(hashing) == {
        "check_password_and_factor",
        "hash_password",
        "dummy_hash",
        "renew_hash",
    }
    assert code["hash_password"].index("admit(") < code["hash_password"].index("make_password(")
    check = code["check_password_and_factor"]
    assert check.index("admit(") < check.index("dummy_hash()") < check.index("= check_password(")


def parts(code):
    return {part for part in ("= check_password(", "make_password(") if part in code}


NAMES = {"first_name": "Charles", "last_name": "Babbage"}
NEW = "charles@example.com"


def typed(path, email, name):
    """A form of a page that asks for a password; a browser of its own fills it in."""
    return lambda: Client().post(path, {name: email, "password": PASSWORD})


def redeemed(path, link, **more):
    return lambda: API().post(path, {"token": link.token, "password": PASSWORD} | more)


def consent():
    redirect = "http://127.0.0.1:3030/callback"
    person = Person(request_of(Assistant.objects.create(name="x", redirect_uris=[redirect])))
    return lambda: person.sign_in("ada@example.com")


# Each way to have a password hashed, made for the owner of an address.
WAYS = {
    "log-in": (
        "ada@example.com",
        lambda ada: lambda: API().post("/auth/login", {"email": ada.email, "password": PASSWORD}),
    ),
    "admin": ("ada@example.com", lambda ada: typed("/admin/login/", ada.email, "username")),
    "consent": ("ada@example.com", lambda ada: consent()),
    "sign-up": (
        NEW,
        lambda ada: redeemed(
            "/auth/complete-signup",
            SignupLink.objects.create(email=NEW),
            account_name="Difference Engines",
            **NAMES,
        ),
    ),
    "invitation": (
        NEW,
        lambda ada: redeemed("/invitations/accept", Invitation.objects.invite(ada, NEW), **NAMES),
    ),
    "password change": (
        "ada@example.com",
        lambda ada: redeemed("/password-changes/redeem", PasswordChange.objects.make(ada)),
    ),
}


@pytest.fixture(params=WAYS)
def way(request, ada):
    """An address, and a call that has a password hashed for it."""
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    email, make = WAYS[request.param]
    return email, make(User.objects.get(pk=ada.pk))


@pytest.fixture
def hashes(monkeypatch):
    """One entry for each hash that is made from here on."""
    made = []
    slot = hashers.hash_slot
    monkeypatch.setattr(hashers, "hash_slot", lambda: made.append(True) or slot())
    return made


def counted():
    """How many requests the credential tier has counted from here."""
    return servers.REDIS.client.get("throttle:credential:127.0.0.1")


def test_every_way_is_counted_queued_and_recorded(way, hashes):
    email, call = way
    before = Record.objects.count()
    answer = call()

    assert answer.status_code in {200, 302}, answer.content
    assert counted() == b"1"
    assert hashes == [True]
    assert Record.objects.count() == before + 1
    assert Record.objects.order_by("-pk")[0].subject == email


def test_no_way_hashes_for_whoever_has_spent_the_limit(way, hashes, settings):
    settings.RATE_LIMIT_CREDENTIAL = 0

    assert way[1]().status_code == 429
    assert hashes == []


def test_no_way_hashes_for_a_locked_address(way, hashes):
    for _ in range(5):
        Lockout.objects.record_failure(way[0])

    assert way[1]().status_code == 429
    assert hashes == []
    assert Lockout.objects.get().refusals == 1


def test_django_s_own_authenticate_passes_the_door(ada, hashes, settings):
    request = RequestFactory().post("/anywhere")
    PublicThrottle().allow_request(request)  # another tier's count is not this one's
    settings.RATE_LIMIT_CREDENTIAL = 1

    found = [authenticate(one, username=ada.email, password=PASSWORD)
             for one in (request, RequestFactory().post("/anywhere"))]  # fmt: skip

    assert found == [ada, None]
    assert hashes == [True]
    assert counted() == b"2"
