"""`rotatekey`, `withdrawkey`, `listkeys` and `importkeys`."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.management import CommandError, call_command
from django.utils import timezone

from keys import cache
from keys.models import SigningKey, new_private_key, public_jwk
from tests.keys.conftest import look, published

pytestmark = pytest.mark.django_db


def listed(capsys):
    capsys.readouterr()
    call_command("listkeys")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    return {kid: (state, expiry) for kid, state, _, expiry in lines}


@pytest.mark.parametrize(
    ("options", "seconds"),
    [([], 600), (["--now"], 5), (["--delay", "60"], 60), (["--delay", "2592000"], 2592000)],
)
def test_rotated_key_signs_after_the_delay(first, capsys, options, seconds):
    call_command("rotatekey", *options)

    new = SigningKey.objects.exclude(pk=first.pk).get()
    assert abs(new.signs_from - timezone.now() - timedelta(seconds=seconds)) < timedelta(minutes=1)
    assert f"{new.kid} signs from {new.signs_from:%Y-%m-%dT%H:%M:%SZ}." in capsys.readouterr().out


@pytest.mark.parametrize("delay", ["-1", "4", "soon", "2592001", "²"])
def test_delay_is_at_most_thirty_days(first, delay):
    with pytest.raises(CommandError, match=r"from 5 to 2592000 \(30 days\)"):
        call_command("rotatekey", "--delay", delay)
    assert SigningKey.objects.count() == 1


def test_list_tells_what_each_key_does(first, capsys):
    waiting, withdrawn = SigningKey.objects.publish(600), SigningKey.objects.publish(900)
    call_command("withdrawkey", "--", withdrawn.kid)

    expiry = waiting.signs_from + timedelta(seconds=86400 + 2 * 5 + 2)
    assert listed(capsys) == {
        first.kid: ("signing", f"{expiry:%Y-%m-%dT%H:%M:%SZ}"),
        waiting.kid: ("waiting", "-"),
        withdrawn.kid: ("withdrawn", "-"),
    }


def test_last_key_that_is_withdrawn_has_a_successor(first, capsys):
    call_command("withdrawkey", "--", first.kid)
    look()

    assert len(published()) == 1
    with pytest.raises(CommandError, match="is unknown, or withdrawn already"):
        call_command("withdrawkey", "--", first.kid)


def pem(private):
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


@pytest.fixture
def folder(tmp_path):
    """The key folder of 1.0.0; its keys by file."""
    made = {"first": new_private_key(), "20261121T120000Z": new_private_key()}
    for name, private in made.items():
        (tmp_path / f"{name}.pem").write_bytes(pem(private))
    return tmp_path, {name: public_jwk(private)["kid"] for name, private in made.items()}


def test_files_of_1_0_0_are_imported_with_kids_and_dates(first, folder):
    path, kids = folder
    for _ in range(2):  # a second time changes nothing
        call_command("importkeys", str(path))
    look()

    dates = dict(SigningKey.objects.values_list("kid", "signs_from"))
    assert dates[kids["20261121T120000Z"]] == datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert dates[kids["first"]] < dates[kids["20261121T120000Z"]]
    assert set(published()) == {first.kid, *kids.values()}


def test_key_that_1_0_0_had_withdrawn_stays_withdrawn(first, folder, capsys):
    path, kids = folder
    now = timezone.now()
    SigningKey.objects.create(kid=kids["first"], signs_from=now, withdrawn_at=now)
    call_command("importkeys", str(path))
    look()

    assert "was withdrawn, and stays so" in capsys.readouterr().out
    assert kids["first"] not in published()


def test_service_waits_for_the_keys_that_1_0_0_had_published(first, folder, capsys):
    path, kids = folder
    for kid in kids.values():
        SigningKey.objects.create(kid=kid, signs_from=datetime.fromtimestamp(0, UTC))
    assert {state for state, _ in listed(capsys).values()} == {"signing", "missing"}
    with pytest.raises(SystemExit, match=r"run `manage\.py importkeys FOLDER`"):
        cache.prepare()

    call_command("importkeys", str(path))

    cache.prepare()
    assert {state for state, _ in listed(capsys).values()} == {"signing", "verifying"}


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"no pem", "cannot be read"), (pem(ec.generate_private_key(ec.SECP256R1())), "not an RSA")],
)
def test_bad_file_is_named_and_nothing_imported(first, folder, content, words):
    path, _ = folder
    (path / "z.pem").write_bytes(content)

    with pytest.raises(CommandError, match=rf"z\.pem.*{words}"):
        call_command("importkeys", str(path))
    assert SigningKey.objects.count() == 1


def test_folder_without_keys_is_told(first, tmp_path):
    with pytest.raises(CommandError, match=r"has no \.pem file"):
        call_command("importkeys", str(tmp_path))
