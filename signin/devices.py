"""Known devices: browsers in which a user has signed in before, recognised by a cookie.

With DEVICE_LOCKOUT a known device has its own failed attempts and lock, so that strangers who guess
passwords can't lock the owner out (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").
The cookie signs nobody in. It holds a random secret for each user who has lately signed in with the
browser; the database has the secrets' digests.
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
from base.caller import browser_and_system, current_caller, network_of
from signin.cookies import read_user_values, set_user_values
from throttling.models import UNKNOWN_DEVICE, Lockout

DEVICE_COOKIE = "service_device"
DEVICE_LIFETIME = timedelta(days=180)  # since the last sign-in
NO_USER_ID = uuid.UUID(int=0)  # of no user, so that an unknown address costs the same query


def hash_of_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class DeviceQuerySet(models.QuerySet["Device"]):
    def live(self) -> Self:
        """Devices that are still known: remembered or renewed within DEVICE_LIFETIME, for a user
        whose sessions were not ended since the device became known."""
        since = timezone.now() - DEVICE_LIFETIME
        return self.filter(used_at__gt=since, token_version=F("user__token_version"))

    def of_browser(self, user: User | None, cookie_secrets: list[str]) -> Self:
        """The user's known devices with one of the secrets in a browser's cookie. Without a user it
        is empty, after the same query."""
        digests = [hash_of_secret(secret) for secret in cookie_secrets]
        return self.live().filter(user=user.pk if user else NO_USER_ID, digest__in=digests)

    def prune_expired(self) -> int:
        """Delete devices that are no longer known; returns their number. The condition is written
        out, since excluding a subquery of the live devices takes quadratic time."""
        expired = Q(used_at__lte=timezone.now() - DEVICE_LIFETIME)
        signed_out = ~Q(token_version=F("user__token_version"))
        return delete_in_batches(self.filter(expired | signed_out))


class Device(models.Model):
    """A browser that one user has signed in with."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="devices", editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    token_version = models.PositiveBigIntegerField(editable=False)
    name = models.CharField(max_length=40, editable=False)  # "Firefox, Windows"
    network = models.CharField(max_length=60, editable=False, db_default="")  # at the last sign-in
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    used_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = DeviceQuerySet.as_manager()

    class Meta:
        ordering = ["-used_at"]
        verbose_name = "known device"

    def __str__(self) -> str:
        return self.name

    def forget(self) -> None:
        """Delete the device, which then counts as unknown, and record that. A second call does
        nothing. The user's sessions go on."""
        if Device.objects.filter(pk=self.pk).delete()[0]:
            audit.record(Kind.DEVICE_FORGOTTEN, actor=self.user, device=self.name)


def device_of(request: HttpRequest | Request, user: User | None) -> str:
    """The id, in hexadecimal, of the user's known device that sent the request. UNKNOWN_DEVICE
    without a user or a known device, without DEVICE_LOCKOUT, or if the device may not have a
    lockout of its own (`Lockout.objects.has_room`)."""
    cookie_secrets = read_user_values(request, DEVICE_COOKIE) if settings.DEVICE_LOCKOUT else []
    if not cookie_secrets:
        return UNKNOWN_DEVICE
    device = Device.objects.of_browser(user, cookie_secrets).first()
    if user and device and Lockout.objects.has_room(user.email, device.pk.hex):
        return device.pk.hex
    return UNKNOWN_DEVICE


def remember_device(request: HttpRequest | Request, response: HttpResponseBase, user: User) -> None:
    """Make the browser a known device of the user, or renew it if it is one, and set its cookie on
    the response. Call it after a sign-in or an e-mailed link, only with DEVICE_LOCKOUT, with the
    user's present token version, and not in a transaction unless that has locked the user's row.

    A new device is recorded in the audit log. It gets a new secret, since an attacker may have
    planted those in the cookie ("cookie tossing").
    """
    cookie_secrets, caller = read_user_values(request, DEVICE_COOKIE), current_caller.get()
    sign_in = {"used_at": timezone.now(), "network": network_of(caller.address)}
    if not (cookie_secrets and Device.objects.of_browser(user, cookie_secrets).update(**sign_in)):
        cookie_secrets = [secrets.token_urlsafe(16), *cookie_secrets]
        try:
            Device.objects.create(
                user=user,
                digest=hash_of_secret(cookie_secrets[0]),
                token_version=user.token_version,
                name=", ".join(filter(None, browser_and_system(caller.agent))),
                **sign_in,
            )
        except IntegrityError:  # the user was erased
            return
        audit.record(Kind.DEVICE_KNOWN, actor=user)
    set_user_values(response, DEVICE_COOKIE, cookie_secrets, DEVICE_LIFETIME)
