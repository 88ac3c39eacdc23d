"""All signing keys that are here or published, as operators are shown them."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from keys import folder
from keys.models import PublishedKey
from keys.ring import Key, KeyRing


@dataclass(frozen=True)
class KeyState:
    """One key as `manage.py keys` shows it; times in epoch seconds.

    `signs_from` is None for a key that signs at once, `dies_at` (when the last token does that it
    can have signed) for one without a successor.
    """

    kid: str
    file: str | None
    state: str
    signs_from: float | None
    dies_at: float | None


def survey() -> list[KeyState]:
    """Every key and key file that is here, or is published, by the time from which it signs.

    States: `signing`, `waiting` to sign, `verifying` what it has signed, `dead` (to be removed),
    `withdrawn` (though its file is here), `missing` here, `unreadable`.
    """
    here = folder.readable()
    rows = {row.kid: row for row in PublishedKey.objects.all()}
    held = {key.kid for key in here.values()}
    missing = [row for row in rows.values() if row.removed_at is None and row.kid not in held]
    begins = {key.kid: key.signs_from for key in here.values()}
    begins |= {row.kid: row.signs_from.timestamp() if row.signs_from else 0 for row in missing}

    def state(kid: str, file: str | None, name: str) -> KeyState:
        signs_from = begins[kid]
        return KeyState(
            kid, file, name, signs_from or None, folder.dies_at(signs_from, begins.values())
        )

    withdrawn = {row.kid for row in rows.values() if row.removed_at is not None}
    ring = KeyRing(here.values()).without(withdrawn)
    signing = ring.signing_key().kid if ring.keys else None
    found = [state(row.kid, None, "missing") for row in missing]
    for path, key in here.items():
        if key.kid in withdrawn:
            name = "withdrawn"
        elif key.kid == signing:
            name = "signing"
        else:
            name = phase(key, begins.values())
        found.append(state(key.kid, path.name, name))
    unreadable = [path.name for path in folder.key_files() if path not in here]
    found += [KeyState("", file, "unreadable", None, None) for file in unreadable]
    return sorted(found, key=lambda key: (key.signs_from or 0, key.file or ""))


def phase(key: Key, begins: Iterable[float]) -> str:
    """The state of a key that is here and does not sign, by the time alone."""
    now = time.time()
    if key.signs_from > now:
        return "waiting"
    dies_at = folder.dies_at(key.signs_from, begins)
    return "dead" if dies_at is not None and dies_at <= now else "verifying"
