"""The three tiers as DRF throttles (interface §8), and one more counter for /auth/check."""

from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from base.caller import current_caller
from metrics.series import callers_refused
from throttling.errors import RateLimited, TooManyAttempts
from throttling.limiter import limiter, network_limits


class TierThrottle(BaseThrottle):
    """One counter for each caller, shared by all calls of the tier.

    It raises instead of returning False, for which DRF has only one exception.
    """

    tier: ClassVar[str]
    exceeded: ClassVar[type[APIException]] = RateLimited
    strict: ClassVar[bool] = False  # counted in process while Redis is unavailable

    def allow_request(self, request: HttpRequest | Request, view: APIView | None = None) -> bool:
        """True, or raise `exceeded`.

        The `limiter.Decision` stays on Django's request as `rate_limit`, for the answer's headers,
        with its tier as `rate_limit_tier`. A request that has one is not counted again, except by
        the strict tier, which counts every attempt at a credential.
        """
        counted: Any = getattr(request, "_request", request)
        tier = getattr(counted, "rate_limit_tier", None)
        if tier is None or (self.strict and tier != self.tier):
            caller = self.caller_key(request, view)
            limit = getattr(settings, f"RATE_LIMIT_{self.tier.upper()}")
            if self.strict:
                limit = network_limits.find_limit(caller) or limit
            counted.rate_limit = limiter.count_request(self.tier, caller, limit, strict=self.strict)
            counted.rate_limit_tier = self.tier
        if not counted.rate_limit.allowed:
            raise self.exceeded
        return True

    def caller_key(self, request: HttpRequest | Request, view: APIView | None) -> str:
        return current_caller.get().address


class PublicThrottle(TierThrottle):
    """Public routes and unknown paths, by address."""

    tier = "public"


class CredentialThrottle(TierThrottle):
    """Calls that take or send a credential, by address."""

    tier = "credential"
    exceeded: ClassVar[type[APIException]] = TooManyAttempts
    strict = True


class AuthenticatedThrottle(TierThrottle):
    """Protected calls, by the caller that one of the view's authentication classes finds before it
    authenticates (`caller_key(request)`), otherwise by address."""

    tier = "authenticated"

    def caller_key(self, request: HttpRequest | Request, view: APIView | None) -> str:
        authenticators: Any = view.get_authenticators() if view else []
        keys = (authenticator.caller_key(request) for authenticator in authenticators)
        return next(filter(None, keys), "") or super().caller_key(request, view)


class CheckThrottle(AuthenticatedThrottle):
    """Proxies' questions about requests to other services (GET /auth/check), by their caller: a
    counter beside the contract's three, so that those requests leave the caller's limit alone."""

    tier = "check"


TIERS = [PublicThrottle, CredentialThrottle, AuthenticatedThrottle, CheckThrottle]
for throttle in TIERS:  # from zero on, or alerts miss the first refusals
    callers_refused.labels(throttle.tier)
