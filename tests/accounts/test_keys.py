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

from accounts import keys
from accounts.models import PublishedKey
from audit.models import Record
from tests.conftest import race


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Iterator[Path]:
    """An explicit JWT_KEYS_DIR, empty."""
    settings.JWT_KEYS_DIR = tmp_path / "keys"
    settings.JWT_KEYS_DIR.mkdir()
    keys.folder.reset()
    yield settings.JWT_KEYS_DIR
    keys.folder.reset()


def pem(private: Any) -> bytes:
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def test_explicit_folder_without_a_key_is_refused(folder: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^JWT_KEYS_DIR: holds no \.pem file"):
        keys.load()


def test_embedded_default_makes_its_first_key(folder: Path, settings: Any) -> None:
    settings.DATA_DIR = folder.parent

    ring = keys.load()

    assert len(ring.keys) == 1
    assert (folder / "first.pem").stat().st_mode & 0o777 == 0o600


@pytest.mark.django_db
def test_command_makes_the_first_key_and_only_that(folder: Path, capsys: Any) -> None:
    call_command("makekey")
    call_command("makekey")

    assert [path.name for path in folder.iterdir()] == ["first.pem"]
    assert "there is a key already" in capsys.readouterr().out
    assert [row.kid for row in PublishedKey.objects.all()] == list(keys.load().keys)
    assert Record.objects.get().kind == "key.published"


def test_processes_that_start_together_keep_one_key(folder: Path) -> None:
    race(*[keys.make_first] * 4)

    assert [path.name for path in folder.iterdir()] == ["first.pem"]


def test_latest_key_whose_time_has_come_signs_and_all_verify(folder: Path) -> None:
    now = datetime.now(UTC)
    for hours in (-2, -1, 1):
        name = (now + timedelta(hours=hours)).strftime(keys.NAME_FORMAT)
        (folder / f"{name}.pem").write_bytes(keys.new_pem())

    ring = keys.load()

    begun = ring.signing_key().signs_from
    assert abs(begun - (now.timestamp() - 3600)) <= 1
    assert len(ring.jwks()["keys"]) == 3
    assert all(ring.verifying_key(kid) for kid in ring.keys)


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
def test_bad_key_is_named(folder: Path, content: bytes) -> None:
    (folder / "bad.pem").write_bytes(content)

    with pytest.raises(ImproperlyConfigured, match=r"^JWT_KEYS_DIR: bad\.pem in it is no "):
        keys.load()


def test_bad_file_is_told_of_while_another_key_signs(folder: Path, caplog: Any) -> None:
    (folder / "good.pem").write_bytes(keys.new_pem())
    (folder / "bad.pem").write_bytes(b"no pem")

    assert len(keys.load().keys) == 1
    assert caplog.text.count("bad.pem in it is no readable") == 1


@pytest.mark.django_db
def test_command_that_cannot_tell_the_database_says_so(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(PublishedKey.objects, "record", failing)

    with pytest.raises(CommandError, match="migrate, then run this again"):
        call_command("makekey")
    assert [path.name for path in folder.iterdir()] == ["first.pem"]


def failing(*args: Any) -> None:
    raise OperationalError("no such table")
