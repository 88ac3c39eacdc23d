"""Known devices: browsers in which a user has signed in before, recognised by a cookie.

With DEVICE_LOCKOUT a known device has failed attempts and a lock of its own, so that strangers who
guess passwords can't lock the owner out (OWASP, "Slow Down Online Guessing Attacks with Device
Cookies"). The cookie alone doesn't sign in. An entry holds a random id, the day it was made, and a
MAC over both, the address and the user's token version, so it ends with the user's sessions: by a
log-out everywhere, a password change or a deactivation.
"""

import base64
import functools
import secrets
import struct
import time
from dataclasses import dataclass
from typing import Self

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from accounts.models import User
from audit import trail
from audit.message_auth import is_mac, mac
from audit.models import Kind

NAME = "service_device"
LIFE = 180  # days
RENEWED_AFTER = 30  # days
MOST_EMAILS = 5  # of one browser
UNKNOWN_DEVICE = ""
FORM = struct.Struct(">12sI32s")  # id, day since the epoch, MAC


def today() -> int:
    return int(time.time() // 86400)


@functools.cache
def nonexistent_user() -> User:
    """A user without a row, whose MAC takes as long as a real one's."""
    return User(email="nobody@example.com")


def signed(user: User, device: bytes, day: int) -> str:
    """What an entry's MAC is of."""
    return f"{user.pk}:{user.email}:{user.token_version}:{device.hex()}:{day}"


@dataclass(frozen=True)
class Entry:
    """The part of the cookie for one e-mail address."""

    device: bytes
    day: int
    mac: bytes

    @classmethod
    def of(cls, user: User, device: bytes, day: int) -> Self:
        return cls(device, day, mac(NAME, signed(user, device, day)))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """An entry of the cookie, or None if it is invalid or expired."""
        try:
            entry = cls(*FORM.unpack(base64.urlsafe_b64decode(text)))
        except (ValueError, struct.error):
            return None
        return entry if today() - entry.day < LIFE else None

    def write(self) -> str:
        return base64.urlsafe_b64encode(FORM.pack(self.device, self.day, self.mac)).decode()

    def belongs_to(self, user: User) -> bool:
        return is_mac(self.mac, NAME, signed(user, self.device, self.day))


def device_of(request: HttpRequest | Request | None, user: User | None) -> str:
    """The id of the browser's device if the user's address knows it, else UNKNOWN_DEVICE."""
    if not settings.DEVICE_LOCKOUT or request is None:
        return UNKNOWN_DEVICE
    entry = entry_of(user, read_entries(request))
    return entry.device.hex() if entry else UNKNOWN_DEVICE


def read_entries(request: HttpRequest | Request) -> list[Entry]:
    """The entries of a request's cookie."""
    cookie = request.COOKIES.get(NAME, "")
    parts = cookie.split(".")[:MOST_EMAILS] if cookie.isascii() else []
    return [entry for part in parts if (entry := Entry.read(part))]


def entry_of(user: User | None, entries: list[Entry]) -> Entry | None:
    """The user's entry. Without a user the same work is done: five MACs are measurable."""
    owner = user or nonexistent_user()
    return next((entry for entry in entries if entry.belongs_to(owner)), None)


def remember_device(request: HttpRequest | Request, response: HttpResponseBase, user: User) -> None:
    """Make the browser known for the user's address, after a sign-in or by an e-mailed link.

    A known one keeps its id, and its entry is signed again, with a new day once it is a month old.
    A browser keeps the entries of its five newest addresses.
    """
    if not settings.DEVICE_LOCKOUT:
        return
    entries = read_entries(request)
    known = entry_of(user, entries)
    if known is None:
        newest = Entry.of(user, secrets.token_bytes(12), today())
        trail.record(Kind.DEVICE_KNOWN, actor=user)
    else:
        is_old = today() - known.day >= RENEWED_AFTER
        newest = Entry.of(user, known.device, today() if is_old else known.day)
    others = [entry for entry in entries if entry is not known]
    write_device_cookie(response, [newest, *others][:MOST_EMAILS])


def write_device_cookie(response: HttpResponseBase, entries: list[Entry]) -> None:
    left = max(LIFE - (today() - entry.day) for entry in entries)
    response.set_cookie(
        NAME,
        ".".join(entry.write() for entry in entries),
        max_age=left * 86400,
        path="/",
        secure=settings.COOKIE_SECURE,
        httponly=True,
        samesite=settings.COOKIE_SAMESITE,
    )
