"""The signing keys: made once, read once, several at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError

from audit.models import Record
from keys import folder
from keys.models import PublishedKey
from tests.conftest import API, race


@pytest.fixture
def keys_dir(settings: Any, tmp_path: Path) -> Iterator[Path]:
    """An explicit JWT_KEYS_DIR, empty."""
    settings.JWT_KEYS_DIR = tmp_path / "keys"
    settings.JWT_KEYS_DIR.mkdir()
    folder.key_folder.reset()
    yield settings.JWT_KEYS_DIR
    folder.key_folder.reset()


def pem(private: Any) -> bytes:
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def test_explicit_folder_without_a_key_is_refused(keys_dir: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^JWT_KEYS_DIR: holds no \.pem file"):
        folder.key_ring()


def test_embedded_default_makes_its_first_key(keys_dir: Path, settings: Any) -> None:
    settings.DATA_DIR = keys_dir.parent

    ring = folder.key_ring()

    assert len(ring.keys) == 1
    assert (keys_dir / "first.pem").stat().st_mode & 0o777 == 0o600


@pytest.mark.django_db
def test_command_makes_the_first_key_and_only_that(keys_dir: Path, capsys: Any) -> None:
    call_command("makekey")
    call_command("makekey")

    assert [path.name for path in keys_dir.iterdir()] == ["first.pem"]
    assert "there is a key already" in capsys.readouterr().out
    assert [row.kid for row in PublishedKey.objects.all()] == list(folder.key_ring().keys)
    assert Record.objects.get().kind == "key.published"


def test_processes_that_start_together_keep_one_key(keys_dir: Path) -> None:
    race(*[folder.make_first] * 4)

    assert [path.name for path in keys_dir.iterdir()] == ["first.pem"]


def test_latest_key_whose_time_has_come_signs_and_all_verify(keys_dir: Path) -> None:
    now = datetime.now(UTC)
    for hours in (-2, -1, 1):
        name = (now + timedelta(hours=hours)).strftime(folder.NAME_FORMAT)
        (keys_dir / f"{name}.pem").write_bytes(folder.new_pem())

    ring = folder.key_ring()

    begun = ring.signing_key().signs_from
    assert abs(begun - (now.timestamp() - 3600)) <= 1
    assert len(ring.jwks()["keys"]) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"no pem",
        b"",
        pem(rsa.generate_private_key(public_exponent=65537, key_size=1024)),
        pem(ec.generate_private_key(ec.SECP256R1())),
    ],
    ids=["text", "empty", "short", "elliptic"],
)
def test_bad_key_is_named(keys_dir: Path, content: bytes) -> None:
    (keys_dir / "bad.pem").write_bytes(content)

    with pytest.raises(ImproperlyConfigured, match=r"^JWT_KEYS_DIR: bad\.pem in it is no "):
        folder.key_ring()


def test_bad_file_is_told_of_while_another_key_signs(keys_dir: Path, caplog: Any) -> None:
    (keys_dir / "good.pem").write_bytes(folder.new_pem())
    (keys_dir / "bad.pem").write_bytes(b"no pem")

    assert len(folder.key_ring().keys) == 1
    assert caplog.text.count("bad.pem in it is no readable") == 1


@pytest.mark.django_db
def test_command_that_cannot_tell_the_database_says_so(keys_dir: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(PublishedKey.objects, "record", failing)

    with pytest.raises(CommandError, match="migrate, then run this again"):
        call_command("makekey")
    assert [path.name for path in keys_dir.iterdir()] == ["first.pem"]


def failing(*args: Any) -> None:
    raise OperationalError("no such table")


@pytest.mark.django_db
def test_client_that_has_the_keys_is_told_so_until_they_change(keys_dir: Path) -> None:
    call_command("makekey")
    first = API().get("/.well-known/jwks.json")
    caller = API(if_none_match=f'"older", W/{first["ETag"]}')
    same = caller.get("/.well-known/jwks.json")

    assert first["Cache-Control"] == same["Cache-Control"] == "public, max-age=60"
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", first["ETag"])
    folder.publish(600)
    folder.key_folder.reset()
    changed = caller.get("/.well-known/jwks.json")
    assert (changed.status_code, len(changed.json()["keys"])) == (200, 2)
    assert changed["ETag"] != first["ETag"]
