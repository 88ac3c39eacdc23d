"""A process's copy of the signing keys, read every 2 seconds. It decrypts a readable key once."""

import logging
import time

from django.db import Error, OperationalError, close_old_connections
from django.db.models.functions import Now
from django.utils import timezone

from keys.models import READ_KEYS_SECONDS, SigningKey

logger = logging.getLogger(__name__)


class SigningKeys:
    """The keys by kid, and the one that signs (`signer`; None before the first reading, and if no
    key can be decrypted). A thread of each serving process reads them, so that no request waits.
    While the database is unavailable, the copy stays as it is."""

    def __init__(self) -> None:
        self.keys: dict[str, SigningKey] = {}
        self.signer: SigningKey | None = None
        self.seconds_ahead = 0.0  # by which this host's clock is ahead of the database's

    def current(self) -> dict[str, SigningKey]:
        """The keys by kid, the oldest first. Raises OperationalError (503) while none was read."""
        if not self.keys:
            raise OperationalError("the signing keys have not been read yet")
        return self.keys

    def unreadable_kids(self) -> list[str]:
        """The kids of keys that this host cannot decrypt. Raises OperationalError without keys."""
        return [kid for kid, key in self.current().items() if key.private is None]

    def refresh(self) -> None:
        """Read the keys into `keys`, and choose `signer` from those that can be decrypted: the
        newest whose `signs_from` has passed by the database's clock, or the first to come if none
        has. Also sets each key's `state`, and `seconds_ahead`. Raises `django.db.Error`, and
        changes nothing, while the database is unavailable."""
        rows = list(SigningKey.objects.annotate(now=Now()))
        now = rows[-1].now if rows else timezone.now()
        self.seconds_ahead = (timezone.now() - now).total_seconds()
        loaded = {kid: key for kid, key in self.keys.items() if key.private}
        self.keys = {row.kid: loaded.get(row.kid, row) for row in rows}
        readable = [key for key in self.keys.values() if key.private]
        for key in readable:
            key.state = "waiting" if key.signs_from > now else "verifying"
        started = [key for key in readable if key.state == "verifying"]
        self.signer = next(iter(started[-1:] + readable), None)
        if self.signer:
            self.signer.state = "signing"

    def keep_reading(self) -> None:
        """Read the keys every READ_KEYS_SECONDS, and make the first key if there is none. Never
        returns and never raises: an error is logged, except for those of the database."""
        while True:
            try:
                if not self.keys:
                    SigningKey.objects.make_first()
                self.refresh()
            except Error:  # most often an outage, which every request reports
                pass
            except Exception:
                logger.exception("the signing keys could not be read")
            close_old_connections()  # gives the connection back to the pool
            time.sleep(READ_KEYS_SECONDS if self.keys else 0.2)  # without keys nothing works


signing_keys = SigningKeys()


def prepare_keys() -> None:
    """Prepare the keys at a server's start: make the first one, encrypt all anew with SECRET_KEY,
    and read them. While the database is unavailable it only logs that: `keep_reading` reads them
    later. Raises SystemExit if no key can be decrypted: every user would be signed out."""
    try:
        SigningKey.objects.make_first()
        SigningKey.objects.encrypt_anew()
        signing_keys.refresh()
    except Error as error:
        logger.warning("the signing keys cannot be read yet: %s", error)
        return
    if signing_keys.signer is None:
        raise SystemExit(
            "SECRET_KEY decrypts no signing key. After a change of SECRET_KEY, add the preceding "
            "one to SECRET_KEY_FALLBACKS. To sign everybody out instead, run `manage.py rotatekey "
            "--now`."
        )
