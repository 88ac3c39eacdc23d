"""A sign-in at a company's provider, through the browser:

1. The front-end asks for a URL with a StartTicket, and sends the browser there.
2. `begin_sign_in` sends the browser to the provider, with a BrowserAttempt in a cookie. Three tabs
   that begin one after another can sign in side by side.
3. `finish_sign_in` redeems the code that the provider sends back, and returns the person.
4. The front-end redeems a HandoverCode for a session.

The three are sealed with SECRET_KEY. Of a used BrowserAttempt, HandoverCode and StartTicket for a
test, the nonce is stored; other StartTickets work until they expire.
"""

import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
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
from sso.errors import ProviderDown, ProviderFailed, Reason, Refusal
from sso.models import Identity, IdentityProvider, ProviderMetadata
from sso.openid import Person

# Of the latest attempts of a browser's tabs, the last one first: hosts of the release before know
# only the first cookie.
SSO_COOKIES = ["service_sso", "service_sso_2", "service_sso_3"]
Cookies = Mapping[str, str]
# Errors of the provider's answer for which the user can do nothing (RFC 6749 §4.1.2.1).
PROVIDER_ERRORS = {"invalid_request", "unauthorized_client", "unsupported_response_type"}
PROVIDER_ERRORS |= {"invalid_scope", "server_error", "temporarily_unavailable"}
CALLBACK_SECONDS = 12  # for all calls to the provider together; nginx waits 16 s


@dataclass(frozen=True, kw_only=True)
class SealedValue:
    """A value that a browser or front-end hands back within `seconds`. `connection` is the
    provider's id. `challenge` is the PKCE challenge of the front-end's verifier; a test and a
    re-authentication need none.

    Hosts of other releases read it too: a new field needs a default, and none is ever renamed.
    """

    purpose: ClassVar[str]
    seconds: ClassVar[int] = NONCE_SECONDS

    connection: str
    challenge: str
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    def seal(self) -> str:
        """Return the sealed fields, without those that have their default: hosts of
        the release before may not know them."""
        defaults = {attribute.name: attribute.default for attribute in fields(self)}
        values = {name: value for name, value in vars(self).items() if value != defaults[name]}
        return Seal(self.purpose, self.seconds).seal(values)

    @classmethod
    def unseal(cls, sealed: str) -> Self:
        """Return the sealed value, which may have been used already. Raises Refusal (EXPIRED) if it
        is too old, or was not sealed by this service for this class."""
        try:
            return cls(**Seal(cls.purpose, cls.seconds).unseal(sealed))
        except (InvalidSeal, TypeError):  # TypeError: another release has other fields
            raise Refusal(Reason.EXPIRED) from None

    def use(self) -> None:
        """Use the value up, in the caller's transaction if there is one. Raises Refusal (EXPIRED)
        if it was used before."""
        if not UsedNonce.objects.use(self.nonce):
            raise Refusal(Reason.EXPIRED)


@dataclass(frozen=True, kw_only=True)
class StartTicket(SealedValue):
    """Begins a sign-in, a test by the admin with the id `tester`, or a re-authentication of the
    user with the id `caller`. `email` is a hint for the provider's form."""

    purpose = "sso.Ticket"

    email: str
    tester: str = ""
    caller: str = ""

    @property
    def url(self) -> str:
        return f"{settings.SERVICE_URL}/auth/sso/{self.connection}/start?ticket={self.seal()}"


@dataclass(frozen=True, kw_only=True)
class BrowserAttempt(SealedValue):
    """Binds a sign-in to the browser that began it, by a cookie. The provider sends back the
    `state`, and the `nonce` in the ID token. `tester` and `caller` are the ticket's. For a
    re-authentication, `begun_at` is its beginning in epoch seconds."""

    purpose = "sso.Attempt"

    tester: str
    caller: str = ""
    begun_at: int = 0
    state: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))


@dataclass(frozen=True, kw_only=True)
class HandoverCode(SealedValue):
    """Signs the user in at the front-end that has the verifier."""

    purpose, seconds = "sso.Code", 60

    user: str
    token_version: int

    def redeem(self, verifier: str) -> User:
        """Use the code up, in the caller's transaction, and return its user, annotated as by
        `with_profile`, with the provider's tag as `provider_tag`. Raises Refusal (EXPIRED) for a
        used code, for a wrong verifier, which leaves the code usable, and for a user who may no
        longer sign in: erased, inactive, protected, unlinked, with sessions that were ended since,
        or at a provider that is off."""
        identities = Identity.objects.filter(provider=UUID(self.connection), provider__active=True)
        users = User.objects.with_profile().filter(pk=self.user, identities__in=identities)
        # The same statement loads the tag: a later one could return the next provider's.
        users = users.annotate(session_tag=F("identities__provider__session_tag"))
        user = users.filter(is_active=True, token_version=self.token_version).first()
        is_verified = constant_time_compare(challenge_of(verifier), self.challenge)
        if user is None or user.is_protected or not is_verified:
            raise Refusal(Reason.EXPIRED)
        self.use()
        user.provider_tag = vars(user)["session_tag"]
        return user


def set_cookies(response: HttpResponseBase, attempt: BrowserAttempt, cookies: Cookies) -> None:
    """Set the first of SSO_COOKIES to the attempt, and the further ones to the request's latest
    attempts, of which `cookies` may have any."""
    earlier_values = [cookies.get(name, "") for name in SSO_COOKIES]
    values = [attempt.seal(), *filter(is_attempt, earlier_values), "", ""]
    for name, value in zip(SSO_COOKIES, values, strict=False):
        if value or name in cookies:
            set_cookie(response, name, attempt.connection, value)


def is_attempt(value: str) -> bool:
    """Whether the value of a cookie is an unexpired BrowserAttempt."""
    try:
        BrowserAttempt.unseal(value)
    except Refusal:
        return False
    return True


def set_cookie(response: HttpResponseBase, name: str, provider_id: object, value: str) -> None:
    """Set one of SSO_COOKIES; "" clears it."""
    response.set_cookie(
        name,
        value,
        max_age=BrowserAttempt.seconds if value else 0,
        path=f"/auth/sso/{provider_id}",
        secure=settings.COOKIE_SECURE,
        httponly=True,
        samesite="Lax",  # not COOKIE_SAMESITE: the browser comes back from another site
    )


def find_attempt(cookies: Cookies, state: str) -> tuple[BrowserAttempt, str]:
    """Return the attempt with this `state` in the request's cookies, which may have been used
    already, and its cookie's name. Raises Refusal (EXPIRED) if there is none."""
    for name in SSO_COOKIES:
        with suppress(Refusal):
            attempt = BrowserAttempt.unseal(cookies.get(name, ""))
            if constant_time_compare(state, attempt.state):
                return attempt, name
    raise Refusal(Reason.EXPIRED)


def begin_sign_in(provider: IdentityProvider, ticket: StartTicket) -> tuple[str, BrowserAttempt]:
    """Return the URL at the provider for the browser, and the attempt for its cookie. The ticket of
    a test works once. May call the provider, so call it outside a transaction. Raises Refusal:
    EXPIRED for a used ticket or another company's, SWITCHED_OFF, or BUSY for too many calls;
    ProviderFailed if the provider's metadata or keys are missing or unusable; or
    IdentityProvider.DoesNotExist if the provider was removed meanwhile."""
    require_usable_provider(provider, ticket)
    if ticket.tester:  # works once: it could lead others from our host to an untested provider
        ticket.use()
    discovery = ProviderMetadata.objects.get_or_discover(provider)
    discovery.refresh_daily()
    attempt = BrowserAttempt(
        connection=ticket.connection,
        challenge=ticket.challenge,
        tester=ticket.tester,
        caller=ticket.caller,
        begun_at=int(time.time()) if ticket.caller else 0,
    )
    # OpenID Connect Core §3.1.2.1: the user enters credentials, also during a session there. Some
    # providers find even a new sign-in too old for a `max_age` of 0, and ask again for ever.
    max_age = str(openid.CLOCK_SKEW_SECONDS)
    login_parameters = {"prompt": "login", "max_age": max_age} if ticket.caller else {}
    url = with_query(
        discovery.metadata["authorization_endpoint"],
        client_id=provider.client_id,
        redirect_uri=provider.redirect_uri,
        state=attempt.state,
        nonce=attempt.nonce,
        code_challenge=challenge_of(attempt.verifier),
        code_challenge_method="S256",
        login_hint=ticket.email,
        response_type="code",
        scope="openid email profile",
        **login_parameters,
    )
    return url, attempt


def require_usable_provider(
    provider: IdentityProvider, sealed: StartTicket | BrowserAttempt
) -> None:
    """Raise Refusal (EXPIRED) if the value was sealed for another company's provider, or Refusal
    (SWITCHED_OFF) if this one is switched off. A test by an admin also works at a provider that is
    off, unless operators have stopped it."""
    if sealed.connection != str(provider.pk):
        raise Refusal(Reason.EXPIRED)
    if provider.stopped_at or not (provider.active or sealed.tester):
        raise Refusal(Reason.SWITCHED_OFF)


def finish_sign_in(
    provider: IdentityProvider, attempt: BrowserAttempt, answer: Mapping[str, str]
) -> Person:
    """Return the person whom the provider names. Whether that is a user who may sign in, the caller
    decides by `sso.linking`. `answer` is the query that came to the redirect URI. Calls the
    provider for up to CALLBACK_SECONDS, so call it outside a transaction. Uses the attempt up, even
    before an error. Raises ProviderFailed for missing or invalid answers of the provider;
    IdentityProvider.DoesNotExist or ProviderMetadata.DoesNotExist if it was removed meanwhile; or
    another Refusal: EXPIRED for a used attempt, one for another company, and an unknown code;
    SWITCHED_OFF; DENIED if the provider sends no code; PROVIDER for a wrong `iss`, for
    PROVIDER_ERRORS instead of a code, and for errors that anyone can cause; BUSY for too many
    calls."""
    attempt.use()
    require_usable_provider(provider, attempt)
    with finish_calls_within(CALLBACK_SECONDS):
        discovery = ProviderMetadata.objects.get_or_discover(provider)
        openid.check_issuer(discovery.metadata, answer.get("iss"))
        if "code" not in answer:
            error = answer.get("error", "")
            if error in PROVIDER_ERRORS:
                raise Refusal(Reason.PROVIDER, "answer", error)
            raise Refusal(Reason.DENIED)
        return Person.from_claims(fetch_claims(provider, discovery, attempt, answer["code"]))


def fetch_claims(
    provider: IdentityProvider, discovery: ProviderMetadata, attempt: BrowserAttempt, code: str
) -> dict[str, Any]:
    """Return the checked claims of the ID token for the provider's code. Claims that it lacks come
    from the userinfo endpoint if it has no address; or if it doesn't say whether that is verified,
    this matters, and the endpoint has the same address. Makes four calls at most. Raises
    ProviderFailed for a missing or invalid answer, except for one that would only verify the
    address, and for a re-authentication without a new sign-in there; or another Refusal: EXPIRED
    for an invalid code, PROVIDER for another 4xx to it, BUSY."""
    id_token, access_token = openid.redeem_code(
        discovery.metadata,
        provider.client_id,
        provider.secret,
        code=code,
        redirect_uri=provider.redirect_uri,
        code_verifier=attempt.verifier,
    )
    claims = check_id_token(provider, discovery, id_token, attempt.nonce)
    if attempt.caller:
        openid.check_auth_time(claims, attempt.begun_at)
    if not claims.get("email"):
        claims.pop("email", None)
    elif provider.trusts_unstated_emails or not claims.keys().isdisjoint(openid.VERIFIED_CLAIMS):
        return claims
    try:
        userinfo = openid.fetch_userinfo(discovery.metadata, access_token, claims["sub"])
    except ProviderDown:
        raise
    except ProviderFailed:
        if "email" not in claims:
            raise
        return claims  # unverified: an admin may trust the provider's addresses
    emails = {str(values["email"]).lower() for values in (claims, userinfo) if "email" in values}
    return userinfo | claims if len(emails) == 1 else claims


def check_id_token(
    provider: IdentityProvider, discovery: ProviderMetadata, id_token: str, nonce: str
) -> dict[str, Any]:
    """Return the claims of an ID token, checked by `openid.check_token`. If the key with its `kid`
    has not signed it, the keys are read again first: a provider may give a new key the old id.
    Raises ProviderFailed for an invalid token and without a key for it, or Refusal (BUSY)."""
    header = openid.read_token_header(id_token)
    expected_values = provider.issuer, provider.client_id, nonce
    try:
        return openid.check_token(id_token, discovery.find_key(*header), *expected_values)
    except openid.WrongSignature:
        discovery.refresh_keys()
    return openid.check_token(id_token, discovery.find_key(*header), *expected_values)
