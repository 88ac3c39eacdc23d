"""The signing keys as a process holds them: read every two seconds, each loaded once."""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import datetime

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.db import Error, OperationalError, close_old_connections
from rest_framework.exceptions import APIException

from keys.clock import database_now
from keys.models import READ_SECONDS, SigningKey

logger = logging.getLogger(__name__)


class NoSigningKey(APIException):
    """SECRET_KEY decrypts none of the keys."""

    status_code = 503
    default_detail = "service unavailable"


@dataclass(frozen=True, eq=False)
class Key:
    """A loaded key. `private` is None where this host cannot decrypt it: it only verifies."""

    kid: str
    jwk: dict[str, str]
    signs_from: datetime
    public: rsa.RSAPublicKey
    private: rsa.RSAPrivateKey | None

    @classmethod
    def load(cls, row: SigningKey) -> "Key":
        public = jwt.PyJWK(row.public_jwk).key
        return cls(row.kid, row.public_jwk, row.signs_from, public, row.decrypt())


class SigningKeys:
    """The keys that are not withdrawn, by kid, and the one that signs.

    In a web server's process a thread reads them (`watch`), so that no request waits for that;
    elsewhere whoever asks does. While the database is unavailable they stay as they are.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.keys: dict[str, Key] = {}
        self.signer: tuple[str, rsa.RSAPrivateKey] | None = None
        self.missing: list[str] = []  # of 1.0.0, and not imported yet
        self.is_read = self.is_watched = False
        self.next_read = float("-inf")

    def current(self) -> dict[str, Key]:
        """The keys; OperationalError (503) where the database has never answered."""
        if not self.is_watched and time.monotonic() >= self.next_read:
            try:
                self.refresh()
            except Error:
                if not self.is_read:
                    raise
        if not self.is_read:
            raise OperationalError("the signing keys have not been read yet")
        return self.keys

    def signing_key(self) -> tuple[str, rsa.RSAPrivateKey]:
        """The kid and the private key that sign now."""
        self.current()
        if self.signer is None:
            raise NoSigningKey
        return self.signer

    def unreadable(self) -> list[str]:
        """The kids of the keys that this host cannot decrypt."""
        keys = self.current().values()
        return self.missing + [key.kid for key in keys if key.private is None]

    def refresh(self) -> None:
        """Read the keys. Of those that have begun to sign, by the database's clock, the latest
        signs; before all, the first that will."""
        with self.lock:
            self.next_read = time.monotonic() + READ_SECONDS
            rows, now = list(SigningKey.objects.filter(withdrawn_at=None)), database_now()
            known = {kid: key for kid, key in self.keys.items() if key.private}
            keys = {row.kid: known.get(row.kid) or Key.load(row) for row in rows if row.public_jwk}
            able = [(key.kid, key.private) for key in keys.values() if key.private]
            begun = [pair for pair in able if keys[pair[0]].signs_from <= now]
            if self.is_read and keys.keys() != self.keys.keys():
                logger.info("the signing keys have changed: %s", ", ".join(keys))
            self.keys = keys
            self.signer = next(iter(begun[-1:] + able), None)
            self.missing = [row.kid for row in rows if not row.public_jwk]
            self.is_read = True

    def watch(self) -> None:
        """Start the thread that reads the keys; call it once in each process that serves."""
        self.is_watched = True
        threading.Thread(target=self.keep_reading, name="signing-keys", daemon=True).start()

    def keep_reading(self) -> None:
        while True:
            try:
                self.refresh()
            except Error:  # an outage, of which every request tells
                pass
            except Exception:
                logger.exception("the signing keys could not be read")
            close_old_connections()  # gives the connection back to the pool
            time.sleep(READ_SECONDS if self.is_read else 0.2)  # without keys nothing works


signing_keys = SigningKeys()


def states() -> list[tuple[SigningKey, str]]:
    """Every key, and whether it is `signing`, `waiting` to sign, `verifying` what it has signed,
    `withdrawn`, `unreadable` with this SECRET_KEY, or one of 1.0.0 that is `missing`."""
    held = SigningKeys()
    held.refresh()
    rows, now = SigningKey.objects.all(), database_now()
    signer = held.signer[0] if held.signer else None

    def state(row: SigningKey) -> str:
        if row.withdrawn_at:
            return "withdrawn"
        if row.kid == signer:
            return "signing"
        if row.kid in held.unreadable():
            return "missing" if row.kid in held.missing else "unreadable"
        return "waiting" if row.signs_from > now else "verifying"

    return [(row, state(row)) for row in rows]


def prepare() -> None:
    """At a server's start: make the first key, encrypt all by SECRET_KEY, and read them. Ends the
    process with one line where nobody could be signed in, or everybody would be signed out."""
    try:
        SigningKey.objects.make_first()
        SigningKey.objects.encrypt_anew()
        signing_keys.refresh()
    except Error as error:  # the database may come later: the keys are read then
        logger.warning("the signing keys cannot be read yet: %s", error)
        return
    if signing_keys.missing:
        kids = ", ".join(signing_keys.missing)
        raise SystemExit(
            f"Signing keys of 1.0.0 are missing ({kids}): run `manage.py importkeys FOLDER` with "
            "its JWT_KEYS_DIR, or `manage.py withdrawkey KID` to sign their users out."
        )
    if signing_keys.signer is None:
        raise SystemExit(
            "SECRET_KEY decrypts no signing key: add the preceding SECRET_KEY to "
            "SECRET_KEY_FALLBACKS, or run `manage.py rotatekey --now`."
        )
