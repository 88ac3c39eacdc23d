"""The RSA keys that sign and verify tokens: read once, several at a time, one of them signing.

A key is a PEM file (PKCS 8 or PKCS 1, not encrypted, 2048 bits or longer) in JWT_KEYS_DIR. Every
key verifies. A file may be named by the time it begins to sign, `20261121T120000Z.pem`, so that a
new key can be published before it is used; other names sign at once. The latest to have begun
signs. Running processes notice new and removed files by themselves, within LOOK_SECONDS.
"""

import base64
import hashlib
import json
import logging
import math
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from accounts.files import write_once
from audit import trail
from audit.models import Kind

logger = logging.getLogger(__name__)

LEAST_BITS = 2048
NAME_FORMAT = "%Y%m%dT%H%M%SZ"
FIRST_NAME = "first.pem"
LOOK_SECONDS = 2  # how long a process may go without noticing a new key
JWKS_SECONDS = 60  # how long a client may keep the JWK Set
# Far longer than both, and than copying a key to other hosts takes.
PUBLISH_SECONDS = 600


def base64url(number: int) -> str:
    """A positive integer as RFC 7518 §2 writes it (Base64urlUInt)."""
    octets = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def begins_to_sign(name: str) -> float:
    """The time (seconds since the epoch) in a key file's name; 0 for other names."""
    try:
        return datetime.strptime(name, NAME_FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0


@dataclass(frozen=True, eq=False)
class Key:
    """One signing key: `kid` is its thumbprint (RFC 7638), `signs_from` in epoch seconds."""

    private: rsa.RSAPrivateKey
    public: rsa.RSAPublicKey
    kid: str
    signs_from: float
    jwk: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "Key":
        """Read a PEM file; ImproperlyConfigured, naming JWT_KEYS_DIR, for a file that is none."""
        try:
            private = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (OSError, ValueError, TypeError):
            raise bad_keys(f"{path.name} in it is no readable, unencrypted PEM key") from None
        if not isinstance(private, rsa.RSAPrivateKey) or private.key_size < LEAST_BITS:
            raise bad_keys(f"{path.name} in it is no RSA key of {LEAST_BITS} bits or more")
        public = private.public_key()
        numbers = public.public_numbers()
        members = {"e": base64url(numbers.e), "kty": "RSA", "n": base64url(numbers.n)}
        digest = hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest()
        kid = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        jwk = members | {"kid": kid, "use": "sig", "alg": "RS256"}
        return cls(private, public, kid, begins_to_sign(path.stem), jwk)


def bad_keys(problem: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"JWT_KEYS_DIR: {problem}; example: JWT_KEYS_DIR=/etc/service/keys")


class KeyRing:
    """All keys of a folder, by `kid`."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys = {key.kid: key for key in keys}

    def signing_key(self) -> Key:
        """The latest key whose time to sign has come; before all, the first to come."""
        now = time.time()
        begun = [key for key in self.keys.values() if key.signs_from <= now]
        if begun:
            return max(begun, key=lambda key: key.signs_from)
        return min(self.keys.values(), key=lambda key: key.signs_from)

    def verifying_key(self, kid: str) -> Key | None:
        return self.keys.get(kid)

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """The public keys as a JWK Set (RFC 7517 §5)."""
        return {"keys": [key.jwk for key in self.keys.values()]}


class KeyFolder:
    """The keys of this process, kept up to date with JWT_KEYS_DIR.

    A request compares the monotonic clock; one request every few seconds asks for the folder's
    modification time, and only after a change are keys read, the new ones alone: 45 ms each, for
    which other threads wait, so that none of them meets a token whose key is just being read.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Forget all keys; the next request reads the folder anew."""
        self.ring: KeyRing | None = None
        self.files: dict[tuple[str, int, int], Key] = {}
        self.changed_at: int | None = None  # the folder's, when its keys were last read; in ns
        self.next_look = float("-inf")
        self.problem = ""

    def current(self) -> KeyRing:
        """The ring. Raises ImproperlyConfigured when there is none yet and none can be read."""
        if time.monotonic() >= self.next_look or self.ring is None:
            with self.lock:
                if time.monotonic() >= self.next_look or self.ring is None:
                    self.reload_if_changed()
                    self.next_look = time.monotonic() + LOOK_SECONDS
        assert self.ring is not None  # noqa: S101  (or it has raised)
        return self.ring

    def reload_if_changed(self) -> None:
        """Read the keys if the folder has changed. What cannot be read takes no running service
        down: it keeps its ring, says so once, and looks again."""
        try:
            changed_at = settings.JWT_KEYS_DIR.stat().st_mtime_ns if self.ring else None
            if self.ring is None or changed_at != self.changed_at:
                self.ring = self.read()
                self.changed_at, self.problem = changed_at, ""
        except (OSError, ImproperlyConfigured) as error:
            if self.ring is None:
                raise
            if str(error) != self.problem:
                logger.error("the signing keys stay as they are: %s", error)
            self.problem = str(error)

    def read(self) -> KeyRing:
        paths = key_files()
        if not paths and settings.JWT_KEYS_DIR == settings.DATA_DIR / "keys" and not self.ring:
            paths = [make_first()]
        if not paths:
            raise bad_keys("holds no .pem file: `manage.py makekey` makes the first")
        states = {path: path.stat() for path in paths}
        names = {path: (path.name, at.st_mtime_ns, at.st_size) for path, at in states.items()}
        self.files = {name: self.files.get(name) or Key.read(path) for path, name in names.items()}
        ring = KeyRing(self.files.values())
        if self.ring and self.ring.keys.keys() != ring.keys.keys():
            logger.info("the signing keys have changed: %s", ", ".join(ring.keys))
        return ring


folder = KeyFolder()
load = folder.current


def key_files() -> list[Path]:
    return sorted(settings.JWT_KEYS_DIR.glob("*.pem"))


def publish(delay: float) -> Key:
    """Add a new key that signs in `delay` seconds, rounded up to a whole one, and record it.

    FileExistsError when there is one that begins at the same second.
    """
    moment = datetime.fromtimestamp(math.ceil(time.time() + delay), UTC)
    path: Path = settings.JWT_KEYS_DIR / f"{moment.strftime(NAME_FORMAT)}.pem"
    if path.exists():
        raise FileExistsError(path)
    write_once(path, new_pem())
    key = Key.read(path)
    trail.record(Kind.KEY_PUBLISHED, subject=key.kid, signs_from=moment)
    return key


def remove_dead() -> list[Key]:
    """Delete and record the keys whose last token has died.

    A key's last token is signed when its successor begins to sign, and lives as long as the
    settings let tokens live; the allowed skew between hosts counts twice, once at each end.
    """
    keys = {path: Key.read(path) for path in key_files()}
    life = max(settings.ACCESS_TOKEN_SECONDS, settings.REFRESH_TOKEN_SECONDS)
    life = min(life, settings.SESSION_MAX_SECONDS) + 2 * settings.JWT_LEEWAY_SECONDS
    born = time.time() - life - LOOK_SECONDS
    signing = max((k.signs_from for k in keys.values() if k.signs_from <= born), default=0)
    dead = {path: key for path, key in keys.items() if key.signs_from < signing}
    for path, key in dead.items():
        path.unlink(missing_ok=True)
        trail.record(Kind.KEY_REMOVED, subject=key.kid)
    return list(dead.values())


def make_first() -> Path:
    """Make the folder's first key unless there is one; of racing processes one's key stays."""
    path: Path = settings.JWT_KEYS_DIR / FIRST_NAME
    if not any(settings.JWT_KEYS_DIR.glob("*.pem")):
        write_once(path, new_pem())
    return path


def new_pem() -> bytes:
    """A new RSA key of 2048 bits, as PKCS 8 PEM."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=LEAST_BITS)
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
