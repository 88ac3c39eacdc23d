"""Signing keys that are published and not here: nobody is signed out, and nobody is let in."""

import json
import shutil
import time

import jwt
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from accounts import tokens
from config.health import database_answers
from keys import folder
from keys.models import PublishedKey
from keys.published import published
from keys.ring import Key
from keys.survey import survey
from tests.conftest import API, PASSWORD, bearer
from tests.requests import ask

pytestmark = pytest.mark.django_db
AWAY = (503, {"error": "service unavailable"})


@pytest.fixture
def keys_dir(settings, tmp_path):
    """This host's keys: a first one, which the database knows."""
    settings.JWT_KEYS_DIR = tmp_path / "keys"
    settings.JWT_KEYS_DIR.mkdir()
    folder.key_folder.reset()
    call_command("makekey")
    yield settings.JWT_KEYS_DIR
    folder.key_folder.reset()


@pytest.fixture
def away(keys_dir, ada):
    """A key that another host has published, and the tokens that it gave Ada."""
    key = folder.publish(-1)
    folder.key_folder.reset()
    access, refresh = map(str, tokens.issue(ada))
    path = keys_dir / f"{time.strftime(folder.NAME_FORMAT, time.gmtime(key.signs_from))}.pem"
    path.rename(keys_dir.parent / "away.pem")
    folder.key_folder.reset()
    assert jwt.get_unverified_header(access)["kid"] == key.kid
    return {"kid": key.kid, "access": access, "refresh": refresh}


def answer_of(response):
    return response.status_code, response.json()


def test_token_of_a_key_that_is_away_is_503_and_its_cookie_stays(away, keys_dir, caplog):
    browser = API()
    browser.cookies["service_refresh"] = away["refresh"]
    for _ in range(2):
        answer = browser.post("/auth/refresh")
        assert (answer_of(answer), len(answer.cookies)) == (AWAY, 0)
    body = {"refresh_token": away["refresh"]}
    assert answer_of(API().post("/auth/refresh", body)) == AWAY
    assert answer_of(API(authorization=f"Bearer {away['access']}").get("/auth/me")) == AWAY

    lines = [line for line in caplog.messages if away["kid"] in line]
    assert lines == [f"the signing key {away['kid']} is published, and has no file in {keys_dir}"]
    assert "the database has failed" not in caplog.text


def test_token_works_once_the_key_is_copied(away, keys_dir):
    shutil.copy(keys_dir.parent / "away.pem", keys_dir / "copied.pem")
    folder.key_folder.next_look = float("-inf")

    assert API(authorization=f"Bearer {away['access']}").get("/auth/me").status_code == 200


def test_503_is_counted_by_its_address(away, settings):
    settings.RATE_LIMIT_AUTHENTICATED = 2
    caller = API(authorization=f"Bearer {away['access']}")

    assert [caller.get("/auth/me").status_code for _ in range(3)] == [503, 503, 429]


def made_up(kid):
    encoded = jwt.encode(
        {"sub": "x"}, folder.key_ring().signing_key().private, "RS256", {"kid": kid}
    )
    return API(authorization=f"Bearer {encoded}")


def test_made_up_kids_are_401_and_cost_one_query_in_all(away, django_assert_num_queries):
    callers = [made_up(f"{number:043}") for number in range(10)]

    with django_assert_num_queries(1):
        answers = [caller.get("/auth/me").status_code for caller in callers]

    assert answers == [401] * 10


def test_what_was_known_before_an_outage_still_holds(away, monkeypatch):
    assert folder.missing() == {away["kid"]}

    def fail():
        raise OperationalError("away")

    monkeypatch.setattr(published, "refresh", fail)
    published.next_look = float("-inf")

    assert API(authorization=f"Bearer {away['access']}").get("/auth/me").status_code == 503
    assert made_up("0" * 43).get("/auth/me").status_code == 401


def health():
    database_answers.good_until = float("-inf")
    answer = API().get("/health")
    return answer.status_code, answer.json()["status"], answer.json()["keys"]


def test_health_tells_a_missing_key_until_it_is_there_or_withdrawn(away, keys_dir):
    assert health() == (200, "degraded", "missing")

    call_command("rotatekeys", f"--withdraw={away['kid']}")

    assert health()[2] == "ok"  # a busy machine's limiter may be degraded by itself
    assert API(authorization=f"Bearer {away['access']}").get("/auth/me").status_code == 401


def test_host_without_any_key_lets_nobody_in_and_uses_nothing_up(keys_dir, ada):
    caller = bearer(ada)
    (keys_dir / folder.FIRST_NAME).unlink()
    folder.key_folder.next_look = float("-inf")

    assert answer_of(caller.get("/auth/me")) == AWAY
    login = {"email": ada.email, "password": PASSWORD}
    assert answer_of(API().post("/auth/login", login)) == AWAY
    assert answer_of(API().get("/.well-known/jwks.json")) == AWAY
    assert health() == (200, "degraded", "missing")
    assert API().get("/auth/me").status_code == 401


def test_command_lists_what_is_here_and_what_is_missing(away, keys_dir, capsys):
    (keys_dir / "broken.pem").write_bytes(b"no pem")
    new = folder.publish(600)
    capsys.readouterr()
    call_command("keys", "--json")
    listed = {key["file"]: key for key in json.loads(capsys.readouterr().out)["keys"]}
    call_command("keys")

    states = {key["kid"]: key["state"] for key in listed.values()}
    assert [states[kid] for kid in (away["kid"], new.kid)] == ["missing", "waiting"]
    assert listed["broken.pem"]["state"] == "unreadable"
    first = listed["first.pem"]
    assert (first["state"], first["signs_from"]) == ("signing", None)
    assert first["dies_at"] == listed[None]["signs_from"] + 86400 + 2 * 5 + folder.LOOK_SECONDS
    assert listed[None]["dies_at"] is not None
    text = capsys.readouterr().out
    assert all(word in text for word in (away["kid"], "missing", "broken.pem", "signing"))


def test_command_tells_a_withdrawn_key_whose_file_came_back(away, keys_dir):
    call_command("rotatekeys", f"--withdraw={away['kid']}")
    shutil.copy(keys_dir.parent / "away.pem", keys_dir / "back.pem")
    folder.key_folder.reset()
    folder.record_published()

    assert {key.file: key.state for key in survey()}["back.pem"] == "withdrawn"


@pytest.fixture
def leaked(keys_dir, ada):
    """A key of this host, the tokens that it gave Ada, and one that signs since."""
    kid = folder.key_ring().signing_key().kid
    access, refresh = map(str, tokens.issue(ada))
    folder.publish(-1)
    folder.key_folder.next_look = float("-inf")
    published.forget()
    assert API(authorization=f"Bearer {access}").get("/auth/me").status_code == 200
    return {"kid": kid, "access": access, "refresh": refresh}


def test_withdrawn_key_is_refused_though_its_file_is_here(leaked, keys_dir, api):
    PublishedKey.objects.withdraw(leaked["kid"])
    published.next_look = float("-inf")

    assert API(authorization=f"Bearer {leaked['access']}").get("/auth/me").status_code == 401
    body = {"refresh_token": leaked["refresh"]}
    assert api.post("/auth/refresh", body).status_code == 401
    jwks = {key["kid"] for key in api.get("/.well-known/jwks.json").json()["keys"]}
    assert (len(jwks), leaked["kid"] in jwks) == (1, False)
    assert len(folder.key_files()) == 2


def test_withdrawn_key_signs_nothing(keys_dir, ada):
    later = folder.publish(-1)
    first = folder.key_ring().signing_key().kid
    folder.key_folder.next_look = float("-inf")
    assert folder.key_ring().signing_key().kid == later.kid
    PublishedKey.objects.withdraw(later.kid)
    published.forget()

    assert folder.key_ring().signing_key().kid == first
    assert {key.kid: key.state for key in survey()} == {first: "signing", later.kid: "withdrawn"}


def test_look_at_what_is_withdrawn_is_shared(leaked, django_assert_num_queries):
    caller = API(authorization=f"Bearer {leaked['access']}")
    published.next_look = float("-inf")
    with django_assert_num_queries(2):  # the user, and the look
        caller.get("/auth/me")
    published.next_look = time.monotonic() + 60

    with django_assert_num_queries(10):
        for _ in range(10):
            caller.get("/auth/me")


def test_what_was_withdrawn_before_an_outage_stays_so(leaked, monkeypatch):
    PublishedKey.objects.withdraw(leaked["kid"])
    published.refresh()
    monkeypatch.setattr(PublishedKey.objects, "values_list", fail)
    published.next_look = float("-inf")

    assert API(authorization=f"Bearer {leaked['access']}").get("/auth/me").status_code == 401
    assert published.next_look > time.monotonic()  # not asked again by each request


def test_host_that_has_never_seen_the_database_takes_what_is_here(leaked, monkeypatch):
    monkeypatch.setattr(PublishedKey.objects, "values_list", fail)
    published.forget()

    assert API(authorization=f"Bearer {leaked['access']}").get("/auth/me").status_code == 200
    with pytest.raises(OperationalError):
        published.current()


def fail(*_):
    raise OperationalError("away")


def test_id_may_begin_with_a_hyphen(keys_dir):
    with pytest.raises(CommandError, match="-Lyu8 is no key of this host"):
        call_command("rotatekeys", "--withdraw=-Lyu8")


def test_withdrawing_refuses_a_stranger_and_the_last_key(keys_dir):
    kid = folder.key_ring().signing_key().kid
    for wrong in ("unknown", kid):
        with pytest.raises(CommandError):
            call_command("rotatekeys", f"--withdraw={wrong}")

    assert PublishedKey.objects.get().removed_at is None
    assert len(folder.key_files()) == 1


def wait_for_status(url, headers, status):
    """Seconds until /auth/me answers so; asked without a pause."""
    begun = time.monotonic()
    while time.monotonic() - begun < 10:
        if ask(url, "GET", "/auth/me", **headers).status == status:
            return time.monotonic() - begun
    raise AssertionError(f"no {status} in ten seconds")


def test_leaked_key_dies_on_every_host(new_service):
    ada = {"DJANGO_SUPERUSER_EMAIL": "ada@example.com", "DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    one = new_service(WEB_CONCURRENCY="2", **ada)
    one.manage("makekey")
    leaked = next((one.folder / "data/keys").iterdir())
    two = new_service(DATABASE_URL=one.environment["DATABASE_URL"])
    (two.folder / "data/keys").mkdir(parents=True)
    shutil.copy(leaked, two.folder / "data/keys")
    (two.folder / "data/keys/broken.pem").write_bytes(b"half a ke")
    one.manage("createsuperuser", "--noinput")
    for host in (one, two):
        host.start()
    forged = forge(leaked, one.manage("shell", "--no-imports", "-c", ADA).strip())
    bearer = {"authorization": f"Bearer {forged}"}
    assert {wait_for_status(host.url, bearer, 200) < 10 for host in (one, two)} == {True}
    assert "broken.pem in it is no readable" in two.log

    leaked_kid = jwt.get_unverified_header(forged)["kid"]
    one.manage("rotatekeys", "--delay", "0")
    one.manage("rotatekeys", f"--withdraw={leaked_kid}")
    two_has = two.folder / "data/keys" / leaked.name  # still, and no copy of the new one yet

    assert wait_for_status(one.url, bearer, 401) < folder.LOOK_SECONDS + 2
    assert wait_for_status(two.url, bearer, 503) < folder.LOOK_SECONDS + 2
    assert ask(two.url, "GET", "/health").json()["keys"] == "missing"
    assert two_has.exists()
    assert states(two)[leaked_kid] == "withdrawn"
    two_has.unlink()
    assert leaked_kid not in states(two)


def states(host):
    return {key["kid"]: key["state"] for key in json.loads(host.manage("keys", "--json"))["keys"]}


ADA = "from accounts.models import User; u = User.objects.get(); print(u.pk, u.token_version)"


def forge(pem, user):
    """What somebody makes of a stolen key: a token of a user who never signed in."""
    subject, version = user.split()
    now = int(time.time())
    claims = {
        "iss": "consulting-management",
        "sub": subject,
        "jti": "forged",
        "token_type": "access",
        "iat": now,
        "exp": now + 3600,
        "auth_time": now,
        "token_version": int(version),
    }
    key = Key.read(pem)
    return jwt.encode(claims, key.private, "RS256", {"kid": key.kid})
