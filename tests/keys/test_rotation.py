"""Key rotation: published first, signing later, gone when the last token has died."""

import os
import threading
import time
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from audit.models import Record
from keys import folder
from keys.exceptions import SigningKeyMissing
from keys.ring import Key
from tests.conftest import PASSWORD
from tests.requests import ask

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def key_folder(settings, tmp_path):
    settings.JWT_KEYS_DIR = tmp_path
    folder.make_first()
    return tmp_path


@pytest.fixture
def clock(monkeypatch):
    """Moves the processes' monotonic clock on, so that the next look is due."""

    def look_again(kept):
        kept.next_look = float("-inf")
        return kept.current()

    return look_again


@pytest.mark.django_db
def test_new_key_is_private_published_and_signs_after_the_delay(key_folder, time_machine):
    time_machine.move_to(START, tick=False)
    first = folder.KeyFolder().current().signing_key()
    key = folder.publish(600)
    ring = folder.KeyFolder().current()

    assert oct((key_folder / "20300101T001000Z.pem").stat().st_mode)[-3:] == "600"
    assert len(ring.jwks()["keys"]) == 2
    assert ring.signing_key().kid == first.kid
    time_machine.move_to(START + timedelta(seconds=600), tick=False)
    assert ring.signing_key().kid == key.kid
    assert Record.objects.get().subject == key.kid


@pytest.mark.django_db
def test_old_key_goes_when_its_last_token_has_died(key_folder, time_machine, settings):
    time_machine.move_to(START, tick=False)
    first = folder.KeyFolder().current().signing_key()
    folder.publish(600)
    last_dead = START + timedelta(seconds=600 + 86400 + 2 * 5 + folder.LOOK_SECONDS)
    time_machine.move_to(last_dead - timedelta(seconds=1), tick=False)
    assert folder.remove_dead() == []
    time_machine.move_to(last_dead, tick=False)

    assert [key.kid for key in folder.remove_dead()] == [first.kid]
    assert len(folder.key_files()) == 1
    assert Record.objects.filter(kind="key.removed").count() == 1


def test_running_process_notices_new_and_removed_keys(key_folder, clock):
    kept = folder.KeyFolder()
    assert len(kept.current().keys) == 1
    folder.write_once(key_folder / "20300101T000000Z.pem", folder.new_pem())
    assert len(kept.current().keys) == 1
    assert len(clock(kept).keys) == 2
    (key_folder / "20300101T000000Z.pem").unlink()

    assert len(clock(kept).keys) == 1


@pytest.mark.parametrize("keep_time", [False, True])
def test_file_that_is_overwritten_in_place_is_noticed(key_folder, clock, keep_time):
    kept = folder.KeyFolder()
    old = kept.current().signing_key().kid
    path = key_folder / folder.FIRST_NAME
    before = path.stat()
    pem = folder.new_pem()
    while len(pem) != before.st_size:
        pem = folder.new_pem()
    path.write_bytes(pem)
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert clock(kept).keys.get(old) is None
    assert clock(kept).signing_key().kid == Key.read(path).kid


def test_file_that_has_not_changed_is_not_read_again(key_folder, clock, monkeypatch):
    kept = folder.KeyFolder()
    ring = kept.current()
    monkeypatch.delattr(folder.Key, "read")

    assert clock(kept) is ring


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----\nMII", b"\xff\x00"])
def test_bad_new_file_keeps_the_old_ring_and_is_read_again(key_folder, clock, caplog, content):
    kept = folder.KeyFolder()
    old = kept.current()
    new = key_folder / "20300101T000000Z.pem"
    new.write_bytes(content)
    assert clock(kept) is old
    assert clock(kept) is old
    assert caplog.text.count("the signing keys stay as they are") == 1
    new.write_bytes(folder.new_pem())

    assert len(clock(kept).keys) == 2


@pytest.mark.parametrize("whole_folder", [False, True])
def test_last_key_that_is_deleted_verifies_nothing_any_more(
    key_folder, clock, caplog, whole_folder
):
    kept = folder.KeyFolder()
    kid = kept.current().signing_key().kid
    (key_folder / folder.FIRST_NAME).unlink()
    if whole_folder:
        key_folder.rmdir()

    assert clock(kept).keys.get(kid) is None
    assert clock(kept).keys.get(kid) is None
    assert caplog.text.count(f"no signing key is left in {key_folder}") == 1
    with pytest.raises(SigningKeyMissing):
        kept.current().signing_key()
    with pytest.raises(ImproperlyConfigured):
        folder.KeyFolder().current()


def test_key_that_comes_back_is_found_again(key_folder, clock):
    kept = folder.KeyFolder()
    kept.current()
    first = key_folder / folder.FIRST_NAME
    content = first.read_bytes()
    first.unlink()
    assert not clock(kept).keys
    first.write_bytes(content)

    assert len(clock(kept).keys) == 1


@pytest.mark.django_db
def test_command_reports_as_text_and_json(key_folder, capsys):
    call_command("rotatekeys")
    assert "signs in 600 s" in capsys.readouterr().out
    call_command("rotatekeys", "--only-remove", "--json")

    assert capsys.readouterr().out == '{"published": null, "removed": []}\n'


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", [["--delay=-1"], ["--delay=soon"], ["--what"]])
def test_command_refuses_wrong_arguments(key_folder, wrong):
    with pytest.raises(CommandError):
        call_command("rotatekeys", *wrong)
    assert len(folder.key_files()) == 1


class Caller(threading.Thread):
    """Refreshes and asks who it is, without a pause; verifies each token by JWKS alone, which it
    fetches again when its copy is a second old."""

    def __init__(self, url, refresh_token):
        super().__init__()
        self.url, self.token = url, refresh_token
        self.kids = set()
        self.problems = []
        self.stopping = threading.Event()
        self.fetched_at = 0.0

    def jwks(self):
        if time.monotonic() - self.fetched_at > 1:
            answer = ask(self.url, "GET", "/.well-known/jwks.json")
            self.known = {key.key_id: key for key in jwt.PyJWKSet.from_dict(answer.json()).keys}
            self.fetched_at = time.monotonic()
        return self.known

    def run(self):
        while not self.stopping.is_set():
            try:
                self.call()
            except Exception as error:
                self.problems.append(error)

    def call(self):
        answer = ask(self.url, "POST", "/auth/refresh", {"refresh_token": self.token}).json()
        self.token, access = answer["refresh_token"], answer["access_token"]
        kid = jwt.get_unverified_header(access)["kid"]
        jwt.decode(access, self.jwks()[kid], ["RS256"], options={"verify_iat": False})
        self.kids.add(kid)
        me = ask(self.url, "GET", "/auth/me", authorization=f"Bearer {access}")
        assert me.status == 200, me.body


def test_rotation_under_load_fails_no_request(new_service):
    limits = {f"RATE_LIMIT_{tier}": "1000000" for tier in ("AUTHENTICATED", "CREDENTIAL", "PUBLIC")}
    service = new_service(
        WEB_CONCURRENCY="2",
        ACCESS_TOKEN_SECONDS="3",
        REFRESH_TOKEN_SECONDS="3",
        JWT_LEEWAY_SECONDS="0",
        DJANGO_SUPERUSER_EMAIL="ada@example.com",
        DJANGO_SUPERUSER_PASSWORD=PASSWORD,
        **limits,
    )
    service.manage("createsuperuser", "--noinput")
    service.start()
    person = {"email": "ada@example.com", "password": PASSWORD}
    login = ask(service.url, "POST", "/auth/login", person).json()
    callers = [Caller(service.url, login["refresh_token"]) for _ in range(3)]
    for caller in callers:
        caller.start()
    service.manage("rotatekeys", "--delay=4")
    begun = time.monotonic()
    removed = ""
    while "removed" not in removed and time.monotonic() - begun < 20:
        time.sleep(1)
        removed = service.manage("rotatekeys", "--only-remove")
    time.sleep(folder.LOOK_SECONDS + 0.5)
    for caller in callers:
        caller.stopping.set()
        caller.join()

    assert [problem for caller in callers for problem in caller.problems] == []
    assert {len(caller.kids) for caller in callers} == {2}
    assert len(ask(service.url, "GET", "/.well-known/jwks.json").json()["keys"]) == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("seconds", "words"), [(3600, "3600 s ahead of the"), (-3600, "3600 s behind the")]
)
@pytest.mark.parametrize("option", [[], ["--only-remove"]])
def test_nothing_is_rotated_by_a_wrong_clock(key_folder, time_machine, seconds, words, option):
    before = folder.key_files()
    time_machine.move_to(time.time() + seconds)

    with pytest.raises(CommandError, match=words):
        call_command("rotatekeys", *option)
    assert folder.key_files() == before
    assert not Record.objects.exists()


@pytest.mark.django_db
def test_leaked_key_is_withdrawn_by_a_wrong_clock_too(key_folder, time_machine):
    key = folder.publish(0)
    time_machine.move_to(time.time() + 40)
    call_command("rotatekeys", f"--withdraw={key.kid}")

    assert len(folder.key_files()) == 1
