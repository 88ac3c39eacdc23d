"""`rotatekey`, `withdrawkey`, `listkeys` and `importkeys`."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.management import CommandError, call_command
from django.utils import timezone

from keys import cache
from keys.models import SigningKey
from tests.conftest import new_private_key
from tests.keys.conftest import look, published

pytestmark = pytest.mark.django_db
DATE = datetime(2026, 11, 21, 12, tzinfo=UTC)


def listed(capsys):
    capsys.readouterr()
    call_command("listkeys")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    return {kid: state for kid, state, _ in lines}


@pytest.mark.parametrize(
    ("options", "seconds"),
    [([], 600), (["--now"], 5), (["--delay", "60"], 60), (["--delay", "2592000"], 2592000)],
)
def test_rotated_key_signs_after_the_delay(first, capsys, options, seconds):
    call_command("rotatekey", *options)

    new = SigningKey.objects.exclude(pk=first.pk).get()
    assert abs(new.signs_from - timezone.now() - timedelta(seconds=seconds)) < timedelta(minutes=1)
    assert f"{new.kid} signs from {new.signs_from:%Y-%m-%dT%H:%M:%SZ}." in capsys.readouterr().out


@pytest.mark.parametrize("delay", ["-1", "4", "2592001"])
def test_delay_is_at_most_thirty_days(first, delay):
    with pytest.raises(CommandError, match=r"5 to 2592000 seconds \(30 days\)"):
        call_command("rotatekey", "--delay", delay)
    assert SigningKey.objects.count() == 1


def test_list_tells_what_each_key_does(first, capsys):
    waiting, withdrawn = SigningKey.objects.publish(600), SigningKey.objects.publish(900)
    call_command("withdrawkey", "--", withdrawn.kid)

    assert listed(capsys) == {first.kid: "signing", waiting.kid: "waiting"}


def test_last_key_that_is_withdrawn_has_a_successor(first, capsys):
    call_command("withdrawkey", "--", first.kid)
    look()

    assert len(published()) == 1
    with pytest.raises(CommandError, match="is unknown, or was already withdrawn"):
        call_command("withdrawkey", "--", first.kid)


def pem(private):
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


@pytest.fixture
def folder(tmp_path, db):
    """The key folder of 1.0.0; its keys by file. The upgrade has the rows that it published."""
    made = {"first": new_private_key(), "20261121T120000Z": new_private_key()}
    for name, private in made.items():
        (tmp_path / f"{name}.pem").write_bytes(pem(private))
    kids = {name: SigningKey.from_private_key(private).kid for name, private in made.items()}
    SigningKey.objects.create(kid=kids["first"], signs_from=datetime.fromtimestamp(0, UTC))
    SigningKey.objects.create(kid=kids["20261121T120000Z"], signs_from=DATE)
    return tmp_path, kids


def test_service_waits_for_the_keys_that_1_0_0_had_published(folder, capsys):
    path, kids = folder
    assert set(listed(capsys).values()) == {"unreadable"}
    with pytest.raises(SystemExit, match=r"run `manage\.py importkeys FOLDER`"):
        cache.prepare_keys()

    for _ in range(2):  # a second time changes nothing
        call_command("importkeys", str(path))

    cache.prepare_keys()
    assert listed(capsys) == {kids["first"]: "verifying", kids["20261121T120000Z"]: "signing"}
    assert SigningKey.objects.get(kid=kids["20261121T120000Z"]).signs_from == DATE
    assert set(published()) == set(kids.values())


def test_key_that_1_0_0_had_withdrawn_stays_withdrawn(folder, capsys):
    path, kids = folder
    SigningKey.objects.filter(kid=kids["first"]).delete()  # by the migration
    call_command("importkeys", str(path))
    look()

    assert "was skipped" in capsys.readouterr().out
    assert kids["first"] not in published()


@pytest.mark.parametrize("content", [b"no pem", pem(ec.generate_private_key(ec.SECP256R1()))])
def test_bad_file_is_named_and_nothing_imported(folder, content):
    path, _ = folder
    (path / "z.pem").write_bytes(content)

    with pytest.raises(CommandError, match=r"z\.pem (cannot be read|is not an RSA key)"):
        call_command("importkeys", str(path))
    assert not SigningKey.objects.exclude(private_key="").exists()


def test_folder_without_keys_is_told(first, tmp_path):
    with pytest.raises(CommandError, match=r"has no \.pem file"):
        call_command("importkeys", str(tmp_path))
