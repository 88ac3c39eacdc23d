"""A process's copy of the signing keys: read every two seconds, each loaded once."""

import logging
import time

from django.db import Error, OperationalError, close_old_connections
from django.db.models.functions import Now
from django.utils import timezone

from keys.models import READ_SECONDS, SigningKey

logger = logging.getLogger(__name__)


class SigningKeys:
    """The keys by kid, and the one that signs.

    A thread of each serving process reads them (`keep_reading`), so that no request waits. While
    the database is unavailable they stay as they are.
    """

    def __init__(self) -> None:
        self.keys: dict[str, SigningKey] = {}
        self.signer: SigningKey | None = None
        self.seconds_ahead = 0.0  # this host's clock, of the database's

    def current(self) -> dict[str, SigningKey]:
        """The keys. Raises OperationalError (503) if they have never been read."""
        if not self.keys:
            raise OperationalError("the signing keys have not been read yet")
        return self.keys

    def unreadable_kids(self) -> list[str]:
        """The kids of the keys that this host cannot decrypt."""
        return [kid for kid, key in self.current().items() if key.private is None]

    def refresh(self) -> None:
        """Read the keys. Of those that have begun to sign, by the database's clock, the latest
        signs; before all, the first that will."""
        rows = list(SigningKey.objects.annotate(now=Now()))
        now = rows[-1].now if rows else timezone.now()
        self.seconds_ahead = (timezone.now() - now).total_seconds()
        loaded = {kid: key for kid, key in self.keys.items() if key.private}
        self.keys = {row.kid: loaded.get(row.kid, row) for row in rows}
        able = [key for key in self.keys.values() if key.private]
        for key in able:
            key.state = "waiting" if key.signs_from > now else "verifying"
        begun = [key for key in able if key.state == "verifying"]
        self.signer = next(iter(begun[-1:] + able), None)
        if self.signer:
            self.signer.state = "signing"

    def keep_reading(self) -> None:
        """Read the keys until the process ends, through outages of the database."""
        while True:
            try:
                if not self.keys:
                    SigningKey.objects.make_first()
                self.refresh()
            except Error:  # an outage, which every request reports
                pass
            except Exception:
                logger.exception("the signing keys could not be read")
            close_old_connections()  # gives the connection back to the pool
            time.sleep(READ_SECONDS if self.keys else 0.2)  # without keys nothing works


signing_keys = SigningKeys()


def prepare_keys() -> None:
    """At a server's start: make the first key, encrypt all with SECRET_KEY, and read them. Ends the
    process with one line if none can be decrypted, since all users would be signed out."""
    try:
        SigningKey.objects.make_first()
        SigningKey.objects.encrypt_anew()
        signing_keys.refresh()
    except Error as error:  # the database may come later: the keys are read then
        logger.warning("the signing keys cannot be read yet: %s", error)
        return
    if signing_keys.signer is None:
        raise SystemExit(
            "SECRET_KEY decrypts no signing key. After a change of SECRET_KEY, add the preceding "
            "one to SECRET_KEY_FALLBACKS. To sign everybody out instead, run `manage.py rotatekey "
            "--now`."
        )
