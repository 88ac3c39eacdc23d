"""Known devices: browsers in which a user has signed in before, recognised by a cookie.

With DEVICE_LOCKOUT a known device has its own failed attempts and lock, so that strangers who guess
passwords can't lock the owner out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").
The cookie doesn't sign in by itself. It holds a random secret for each user who has signed in with
the browser; the database has a digest of it.
"""

import hashlib
import secrets
import uuid
from datetime import timedelta
from typing import Self

from django.conf import settings
from django.db import IntegrityError, models
from django.db.models import F, Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

import audit
from accounts.models import User
from audit.models import Kind
from base.batches import delete_in_batches
from base.caller import current_caller, network_of
from mail.message import browser_and_system
from throttling.models import Lockout

DEVICE_COOKIE = "service_device"
DEVICE_LIFETIME = timedelta(days=180)  # without a sign-in
MAX_SECRETS = 5  # of one browser
UNKNOWN_DEVICE = ""
NO_USER_ID = uuid.UUID(int=0)  # no user's id: an unknown address costs the same query


def hash_of_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class DeviceQuerySet(models.QuerySet["Device"]):
    def live(self) -> Self:
        """Devices that are still known; they end with the user's sessions."""
        since = timezone.now() - DEVICE_LIFETIME
        return self.filter(used_at__gt=since, token_version=F("user__token_version"))

    def of_browser(self, user: User | None, known: list[str]) -> Self:
        """The user's known device with one of these secrets, if any."""
        owner = user.pk if user else NO_USER_ID
        return self.live().filter(user=owner, digest__in=[*map(hash_of_secret, known)])

    def prune_expired(self) -> int:
        """Delete devices that are no longer known; returns their number. Not `exclude(live)`: where
        the live ones fill PostgreSQL's work_mem, it goes through all of them for each device."""
        ended = Q(used_at__lte=timezone.now() - DEVICE_LIFETIME) | ~Q(
            token_version=F("user__token_version")
        )
        return delete_in_batches(self.filter(ended))


class Device(models.Model):
    """A browser that one user has signed in with."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="devices", editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    token_version = models.PositiveBigIntegerField(editable=False)
    name = models.CharField(max_length=40, editable=False)  # "Firefox, Windows"
    network = models.CharField(max_length=60, editable=False, db_default="")  # of the last sign-in
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    used_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = DeviceQuerySet.as_manager()

    class Meta:
        ordering = ["-used_at"]
        verbose_name = "known device"

    def __str__(self) -> str:
        return self.name

    def forget(self) -> None:
        """Delete the device, which then counts as unknown. One of several parallel calls does."""
        deleted, _ = Device.objects.filter(pk=self.pk).delete()
        if deleted:
            audit.record(Kind.DEVICE_FORGOTTEN, actor=self.user, device=self.name)


def read_secrets(request: HttpRequest | Request | None) -> list[str]:
    """The secrets in the request's cookie."""
    cookie = request.COOKIES.get(DEVICE_COOKIE, "") if request is not None else ""
    return [part for part in cookie.split(".")[:MAX_SECRETS] if part]


def device_of(request: HttpRequest | Request | None, user: User | None) -> str:
    """The id of the browser's device if it is known for the user and may have its own lockout, else
    UNKNOWN_DEVICE."""
    known = read_secrets(request) if settings.DEVICE_LOCKOUT else []
    if not known:
        return UNKNOWN_DEVICE
    device = Device.objects.of_browser(user, known).first()
    if user and device and Lockout.objects.has_room(user.email, device.pk.hex):
        return device.pk.hex
    return UNKNOWN_DEVICE


def remember_device(request: HttpRequest | Request, response: HttpResponseBase, user: User) -> None:
    """With DEVICE_LOCKOUT, make the browser a known device, after a sign-in or by an e-mailed link.
    It gets a new secret, since an attacker may have planted the one that it sends ("cookie
    tossing"). Does nothing for a user who was erased meanwhile, whose session is dead."""
    known, network = read_secrets(request), network_of(current_caller.get().address)
    sign_in = {"used_at": timezone.now(), "network": network}
    if not known or not Device.objects.of_browser(user, known).update(**sign_in):
        known = [secrets.token_urlsafe(16), *known][:MAX_SECRETS]
        try:
            Device.objects.create(
                user=user,
                digest=hash_of_secret(known[0]),
                token_version=user.token_version,
                network=network,
                name=", ".join(filter(None, browser_and_system(current_caller.get().agent))),
            )
        except IntegrityError:
            return
        audit.record(Kind.DEVICE_KNOWN, actor=user)
    response.set_cookie(
        DEVICE_COOKIE,
        ".".join(known),
        max_age=DEVICE_LIFETIME,
        path="/",
        secure=settings.COOKIE_SECURE,
        httponly=True,
        samesite=settings.COOKIE_SAMESITE,
    )
