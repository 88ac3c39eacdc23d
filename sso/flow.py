"""A sign-in's way through browser and provider: the ticket that begins it, the cookie that binds it
to one browser, and the code that brings the session to the front-end.

All three are encrypted with SECRET_KEY, and nothing is stored but what was used.
"""

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self
from uuid import UUID

from django.conf import settings
from django.db.models import F
from django.http.response import HttpResponseBase
from django.utils.crypto import constant_time_compare

from accounts.models import User
from base.nonces import NONCE_SECONDS, UsedNonce
from base.outgoing import finish_calls_within
from base.pkce import challenge_of
from base.sealed import InvalidSeal, Seal
from base.urls import with_query
from sso import openid
from sso.errors import Reason, Refusal
from sso.models import Identity, IdentityProvider, ProviderMetadata
from sso.openid import Person

BROWSER_COOKIE = "service_sso"
CALLBACK_SECONDS = 12  # for all calls to the provider together; nginx waits 16 s
ERROR = re.compile("[a-z_]{1,40}")  # as OAuth has them; admins read no other text of a stranger


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """Encrypted for one purpose. `challenge` is of the front-end's verifier, `nonce` is random."""

    purpose: ClassVar[str]
    seconds: ClassVar[int] = NONCE_SECONDS

    connection: str
    challenge: str
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    def seal(self) -> str:
        """Without what has its default, so that release 2.1 opens the rest."""
        defaults = {part.name: part.default for part in fields(self)}
        values = {name: part for name, part in vars(self).items() if part != defaults[name]}
        return self.get_seal().seal(values)

    @classmethod
    def unseal(cls, sealed: str) -> Self:
        """Raises Refusal."""
        try:
            return cls(**cls.get_seal().unseal(sealed))
        except (InvalidSeal, TypeError):  # TypeError: of another release
            raise Refusal(Reason.EXPIRED) from None

    @classmethod
    def get_seal(cls) -> Seal:
        return Seal(cls.purpose, cls.seconds)

    def use(self) -> None:
        """Use it up; one statement decides races. Raises Refusal."""
        if not UsedNonce.objects.use(self.nonce):
            raise Refusal(Reason.EXPIRED)


@dataclass(frozen=True, kw_only=True)
class StartTicket(Sealed):
    """Begins a sign-in, an admin's test, or the re-authentication of the user `caller`. `email` is
    what was typed, for the provider's form."""

    purpose = "sso.Ticket"

    email: str
    tester: str = ""
    caller: str = ""

    @property
    def url(self) -> str:
        return f"{settings.SERVICE_URL}/auth/sso/{self.connection}/start?ticket={self.seal()}"


@dataclass(frozen=True, kw_only=True)
class BrowserAttempt(Sealed):
    """In the cookie of the browser that began. The `nonce` is also the ID token's. To
    re-authenticate, the `caller` signs in at the provider after `begun_at`, in epoch seconds."""

    purpose = "sso.Attempt"

    tester: str
    caller: str = ""
    begun_at: int = 0
    state: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def set_cookie(self, response: HttpResponseBase) -> None:
        response.set_cookie(
            BROWSER_COOKIE,
            self.seal(),
            max_age=self.seconds,
            path=path_of(self.connection),
            secure=settings.COOKIE_SECURE,
            httponly=True,
            samesite="Lax",  # whatever COOKIE_SAMESITE is: the provider's site sends the user back
        )


@dataclass(frozen=True, kw_only=True)
class HandoverCode(Sealed):
    """Signs a user in at the front-end that has the verifier."""

    purpose, seconds = "sso.Code", 60

    user: str
    token_version: int

    def redeem(self, verifier: str) -> User:
        """The user, with the code used up, in the caller's transaction. Raises Refusal, also if
        the user's sessions were ended since, or the provider was switched off."""
        active = Identity.objects.filter(provider=UUID(self.connection), provider__active=True)
        users = User.objects.with_profile().filter(pk=self.user, identities__in=active)
        # By the same statement, or the session could count for the next provider.
        users = users.annotate(session_tag=F("identities__provider__session_tag"))
        user = users.filter(is_active=True, token_version=self.token_version).first()
        is_theirs = constant_time_compare(challenge_of(verifier), self.challenge)
        if user is None or user.is_protected or not is_theirs:
            raise Refusal(Reason.EXPIRED)
        self.use()
        user.provider_tag = vars(user)["session_tag"]
        return user


def path_of(provider_id: object) -> str:
    return f"/auth/sso/{provider_id}"


def begin(provider: IdentityProvider, ticket: StartTicket) -> tuple[str, BrowserAttempt]:
    """Where to send the browser, and the attempt for its cookie. Raises Refusal."""
    require_usable_provider(provider, ticket)
    if ticket.tester:  # no domain is proved yet: an admin could lead anyone anywhere from our host
        ticket.use()
    stored = ProviderMetadata.objects.get_or_discover(provider)
    stored.renew()
    attempt = BrowserAttempt(
        connection=ticket.connection,
        challenge=ticket.challenge,
        tester=ticket.tester,
        caller=ticket.caller,
        begun_at=int(time.time()) if ticket.caller else 0,
    )
    # OpenID Connect Core §3.1.2.1: the user signs in even if a session there goes on.
    fresh_sign_in = {"prompt": "login", "max_age": "0"} if ticket.caller else {}
    url = with_query(
        stored.metadata["authorization_endpoint"],
        client_id=provider.client_id,
        redirect_uri=provider.redirect_uri,
        state=attempt.state,
        nonce=attempt.nonce,
        code_challenge=challenge_of(attempt.verifier),
        code_challenge_method="S256",
        login_hint=ticket.email,
        response_type="code",
        scope="openid email profile",
        **fresh_sign_in,
    )
    return url, attempt


def require_usable_provider(
    provider: IdentityProvider, sealed: StartTicket | BrowserAttempt
) -> None:
    """Raise Refusal for what was sealed for another provider, and for one that may not be used; a
    test is made before it is active."""
    if sealed.connection != str(provider.pk):
        raise Refusal(Reason.EXPIRED)
    if provider.stopped_at or not (provider.active or sealed.tester):
        raise Refusal(Reason.SWITCHED_OFF)


def finish(
    provider: IdentityProvider, attempt: BrowserAttempt, answer: Mapping[str, str]
) -> Person:
    """The person whom the provider names in its answer. Raises Refusal. Up to four calls to the
    provider, none in a transaction: for the code, unknown keys and a missing address."""
    attempt.use()  # first: also a wrong `state` uses it up
    if not constant_time_compare(answer.get("state", ""), attempt.state):
        raise Refusal(Reason.EXPIRED)
    require_usable_provider(provider, attempt)
    with finish_calls_within(CALLBACK_SECONDS):
        stored = ProviderMetadata.objects.get_or_discover(provider)
        openid.check_issuer(stored.metadata, answer.get("iss"))
        if "code" not in answer:
            named = ERROR.fullmatch(answer.get("error", ""))
            raise Refusal(Reason.DENIED, named[0] if named else "no code")
        return Person.read(ask_for_claims(provider, stored, attempt, answer["code"]))


def ask_for_claims(
    provider: IdentityProvider, stored: ProviderMetadata, attempt: BrowserAttempt, code: str
) -> dict[str, Any]:
    """The claims of the user for whom the provider has given this code. Raises Refusal."""
    token, access_token = openid.redeem_code(
        stored.metadata,
        provider.client_id,
        provider.secret,
        code=code,
        redirect_uri=provider.redirect_uri,
        code_verifier=attempt.verifier,
    )
    key = stored.find_key(*openid.key_named(token))
    client = provider.client_id
    claims = openid.check_token(token, key, provider.issuer, client, attempt.nonce)
    if attempt.caller:
        openid.check_auth_time(claims, attempt.begun_at)
    if not claims.get("email"):
        claims.pop("email", None)
        claims = openid.read_userinfo(stored.metadata, access_token, claims["sub"]) | claims
    return claims
