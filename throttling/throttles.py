"""The three tiers of rate limits as DRF throttles (interface §8), and counters beside them for
/auth/check and for provisioning."""

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
    """Base of the tiers: one counter for each caller, shared by all calls of the tier. It raises
    the tier's error, since DRF has one exception for all throttles."""

    tier: ClassVar[str]
    exceeded: ClassVar[type[APIException]] = RateLimited
    strict: ClassVar[bool] = False  # whether it counts in process while Redis is unavailable

    def allow_request(self, request: HttpRequest | Request, view: APIView | None = None) -> bool:
        """Count the request against RATE_LIMIT_<TIER>; in the strict tier, against the NetworkLimit
        of the caller's network if there is one. Returns True, or raises the class `exceeded`.

        Django's request gets the Decision, for the answer's headers, as `rate_limit`, and the tier
        as `rate_limit_tier`. If another throttle has counted the request, only the strict tier
        counts it again: the others go by the Decision that it has.
        """
        django_request: Any = getattr(request, "_request", request)
        tier = getattr(django_request, "rate_limit_tier", None)
        if tier is None or (self.strict and tier != self.tier):
            caller = self.caller_key(request, view)
            limit = getattr(settings, f"RATE_LIMIT_{self.tier.upper()}")
            if self.strict:
                limit = network_limits.find_limit(caller) or limit
            decision = limiter.count_request(self.tier, caller, limit, strict=self.strict)
            django_request.rate_limit, django_request.rate_limit_tier = decision, self.tier
        if not django_request.rate_limit.allowed:
            raise self.exceeded
        return True

    def caller_key(self, request: HttpRequest | Request, view: APIView | None) -> str:
        """The text by which a caller's requests are counted: the client's address or IPv6 /64."""
        return current_caller.get().address


class PublicThrottle(TierThrottle):
    """Counts calls of public routes and unknown paths by the client's address."""

    tier = "public"


class CredentialThrottle(TierThrottle):
    """Counts calls that take a credential, or mail one, by the client's address."""

    tier = "credential"
    exceeded: ClassVar[type[APIException]] = TooManyAttempts
    strict = True


class AuthenticatedThrottle(TierThrottle):
    """Counts protected calls by caller, before authentication: by the `caller_key(request)` of the
    view's authentication classes, such as the user of a token, or else by the client's address."""

    tier = "authenticated"

    def caller_key(self, request: HttpRequest | Request, view: APIView | None) -> str:
        authenticators: Any = view.get_authenticators() if view else []
        keys = (authenticator.caller_key(request) for authenticator in authenticators)
        return next(filter(None, keys), "") or current_caller.get().address


class CheckThrottle(AuthenticatedThrottle):
    """Counts GET /auth/check by caller, so that requests to other services leave the caller's limit
    at this one alone."""

    tier = "check"


class ScimThrottle(AuthenticatedThrottle):
    """Counts /scim/v2 by API key. Entra ID sends 25 requests a second, and stops for hours after a
    429."""

    tier = "scim"


TIERS = [PublicThrottle, CredentialThrottle, AuthenticatedThrottle, CheckThrottle, ScimThrottle]
for throttle in TIERS:  # at zero, or alerts would miss the first refusal
    callers_refused.labels(throttle.tier)
