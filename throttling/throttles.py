"""The three tiers as DRF throttles: by whom a request is counted, at which limit, what refuses it.

They raise instead of returning False, since DRF would make one exception and one answer of all.
"""

from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from throttling.addresses import client_address
from throttling.exceptions import RateLimited, TooManyAttempts
from throttling.limiter import limiter


class TierThrottle(BaseThrottle):
    """One counter for each caller, shared by all the calls of the tier."""

    tier: ClassVar[str]
    limit_setting: ClassVar[str]
    exceeded: ClassVar[type[APIException]] = RateLimited
    strict: ClassVar[bool] = False  # counted in process while the store is lost

    def allow_request(self, request: HttpRequest | Request, view: APIView | None = None) -> bool:
        """True, or raise `exceeded`.

        The `limiter.Decision` stays on the request as `rate_limit`, with its tier as
        `rate_limit_tier`. A request that has one is not counted again, but by the strict tier,
        which counts who guesses by whatever view it comes.
        """
        counted: Any = request
        tier = getattr(counted, "rate_limit_tier", None)
        if tier is None or (self.strict and tier != self.tier):
            limit = getattr(settings, self.limit_setting)
            caller = self.caller(request, view)
            counted.rate_limit = limiter.count(self.tier, caller, limit, strict=self.strict)
            counted.rate_limit_tier = self.tier
        if not counted.rate_limit.allowed:
            raise self.exceeded
        return True

    def caller(self, request: HttpRequest | Request, view: APIView | None) -> str:
        """By whom to count; the tier is added to it."""
        return client_address(request)


class PublicThrottle(TierThrottle):
    """Public routes and unknown paths, by address."""

    tier = "public"
    limit_setting = "RATE_LIMIT_PUBLIC"


class CredentialThrottle(TierThrottle):
    """Every call that takes or sends a credential, by address."""

    tier = "credential"
    limit_setting = "RATE_LIMIT_CREDENTIAL"
    exceeded: ClassVar[type[APIException]] = TooManyAttempts
    strict = True


class AuthenticatedThrottle(TierThrottle):
    """Protected calls, by what the view's `subject(request)` says, or by address without it.

    `subject` names the user of a token whose signature and expiry hold, as a string, or None.
    """

    tier = "authenticated"
    limit_setting = "RATE_LIMIT_AUTHENTICATED"

    def caller(self, request: HttpRequest | Request, view: APIView | None) -> str:
        subject = getattr(view, "subject", None)
        user = subject(request) if subject else None
        # No address begins with "user".
        return f"user:{user}" if user else super().caller(request, view)
