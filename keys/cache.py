"""The signing keys as a process holds them: read every two seconds, each loaded once."""

import logging
import threading
import time

from django.db import Error, OperationalError, close_old_connections
from django.utils import timezone
from rest_framework.exceptions import APIException

from keys.clock import database_now
from keys.models import READ_SECONDS, SigningKey

logger = logging.getLogger(__name__)


class NoSigningKey(APIException):
    """SECRET_KEY decrypts none of the keys."""

    status_code = 503
    default_detail = "service unavailable"


class SigningKeys:
    """The keys that are not withdrawn, by kid, and the one that signs.

    A thread of each process that serves reads them (`watch`), so that no request waits for that.
    While the database is unavailable they stay as they are.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.keys: dict[str, SigningKey] = {}
        self.signer: SigningKey | None = None
        self.is_read = False
        self.seconds_ahead = 0.0  # this host's clock, of the database's

    def current(self) -> dict[str, SigningKey]:
        """The keys; OperationalError (503) where the database has never answered."""
        if not self.is_read:
            raise OperationalError("the signing keys have not been read yet")
        return self.keys

    def signing_key(self) -> SigningKey:
        """The key that signs now."""
        self.current()
        if self.signer is None:
            raise NoSigningKey
        return self.signer

    def unreadable(self) -> list[str]:
        """The kids of the keys that this host cannot decrypt."""
        return [kid for kid, key in self.current().items() if key.private is None]

    def refresh(self) -> None:
        """Read the keys. Of those that have begun to sign, by the database's clock, the latest
        signs; before all, the first that will."""
        with self.lock:
            rows = list(SigningKey.objects.filter(withdrawn_at=None).exclude(private_key=""))
            now = database_now()
            self.seconds_ahead = (timezone.now() - now).total_seconds()
            loaded = {key.private_key: key for key in self.keys.values()}
            keys = {row.kid: loaded.get(row.private_key, row) for row in rows}
            able = [key for key in keys.values() if key.private]
            begun = [key for key in able if key.signs_from <= now]
            self.keys, self.is_read = keys, True
            self.signer = next(iter(begun[-1:] + able), None)

    def watch(self) -> None:
        """Start the thread that reads the keys; call it once in each process that serves."""
        threading.Thread(target=self.keep_reading, name="signing-keys", daemon=True).start()

    def keep_reading(self) -> None:
        while True:
            try:
                if not self.keys:
                    SigningKey.objects.make_first()
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
    now = database_now()

    def state(key: SigningKey) -> str:
        if key.withdrawn_at:
            return "withdrawn"
        if key == held.signer:
            return "signing"
        if key.private is None:
            return "unreadable" if key.public_jwk else "missing"
        return "waiting" if key.signs_from > now else "verifying"

    return [(key, state(key)) for key in SigningKey.objects.all()]


def prepare() -> None:
    """At a server's start: make the first key, encrypt all by SECRET_KEY, and read them. Ends the
    process with one line where nobody could be signed in, or everybody would be signed out."""
    try:
        missing = SigningKey.objects.filter(withdrawn_at=None, private_key="")
        if kids := ", ".join(key.kid for key in missing):
            raise SystemExit(
                f"Signing keys of 1.0.0 are missing ({kids}): run `manage.py importkeys FOLDER` "
                "with its JWT_KEYS_DIR, or `manage.py withdrawkey KID` to sign their users out."
            )
        SigningKey.objects.make_first()
        SigningKey.objects.encrypt_anew()
        signing_keys.refresh()
    except Error as error:  # the database may come later: the keys are read then
        logger.warning("the signing keys cannot be read yet: %s", error)
        return
    if signing_keys.signer is None:
        raise SystemExit(
            "SECRET_KEY decrypts no signing key: add the preceding SECRET_KEY to "
            "SECRET_KEY_FALLBACKS, or run `manage.py rotatekey --now`."
        )
