"""GET and POST /oauth/authorize: the pages on which a user allows or denies a client access.

The pages have plain forms. They follow RFC 6749 §4.1, RFC 9700 and RFC 9207:

1. A GET checks the client's request and shows the sign-in form.
2. The first POST signs the user in by passkey or password, with the checks, lockout and tier of
   /auth/passkeys/login and /auth/login. If a second factor is needed, the page asks for it, and is
   posted once more. With `?step=session` it goes on with the browser's session, which the page's
   script offers; a user of a company's provider gets one there first. That POST is at
   /auth/authorize, as browsers send the refresh cookie to paths below /auth only.
3. The answer asks for the decision. A sealed value in its form carries the sign-in, so nothing is
   stored yet.
4. The second POST, with `?step=decision`, stores the grant and redirects to the client with a code,
   or with the error `access_denied`.

A password or a passkey shows that the user means it. Of a user who goes on with a session, only the
decision shows it: so no frame or script may make it (`is_users_act`), and the grant ends when the
session can no longer be refreshed.
"""

import math
import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self

from django.conf import settings
from django.db import IntegrityError
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import translation
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts import providers
from accounts.models import User
from accounts.tokens import (
    REFRESH_COOKIE,
    Claims,
    find_session_user,
    max_session_seconds,
)
from api.views import CountedView
from assistants import redirects
from assistants.errors import OAuthError
from assistants.models import Client, Grant
from assistants.oauth import check_resource
from base.emails import with_readable_domains
from base.sealed import InvalidSeal, Seal
from base.urls import with_query
from signin.credentials import check_credentials, record_sign_in
from signin.errors import FactorError, InvalidRefreshToken, WrongCredentials, WrongPasskey
from signin.factors.forms import (
    factor_from_form,
    passkey_options,
    second_page_context,
    unseal_credentials,
)
from signin.factors.methods import Method
from signin.factors.passkeys import find_by_passkey
from signin.serializers import LoginSerializer
from signin.sessions import find_session
from throttling.throttles import CredentialThrottle, PublicThrottle

CODE_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # base64url of a SHA-256 digest
# The code and description of an OAuthError.
FORM_EXPIRED = "form_expired", "This form is too old, was already used, or is not ours."
# The Content-Security-Policy of all pages here.
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class AuthorizationRequest:
    """The request with which a client has sent the browser here, checked. `challenge` is PKCE's."""

    client: Client
    redirect_uri: str
    challenge: str
    state: str | None

    @classmethod
    def from_request(cls, request: Request) -> Self:
        """Check the query of a browser that a client has sent here. Raises OAuthError for an
        unregistered redirect URI, another `response_type` than `code`, a missing or malformed PKCE
        challenge and another `resource`, and what `Client.objects.find_or_fetch` raises:
        InvalidClient, or TooManyAttempts, since fetching a metadata document counts in the
        credential tier. The page shows the error: as anyone can register a client, redirecting to
        it would be an open redirect (RFC 9700 §4.11.2)."""
        query = request.query_params
        count_fetch = partial(CredentialThrottle().allow_request, request)
        client = Client.objects.find_or_fetch(query.get("client_id", ""), count_fetch)
        redirect_uri = query.get("redirect_uri", "")
        if not redirects.is_registered(redirect_uri, client.redirect_uris):
            raise OAuthError("invalid_redirect_uri", "The client has not registered it.")
        if query.get("response_type") != "code":
            raise OAuthError("unsupported_response_type", "The response_type must be code")
        method, challenge = query.get("code_challenge_method"), query.get("code_challenge", "")
        if method != "S256" or not CODE_CHALLENGE.fullmatch(challenge):
            raise OAuthError("invalid_request", "PKCE is required, with code_challenge_method S256")
        check_resource(query)
        return cls(client, redirect_uri, challenge, query.get("state"))

    def redirect_to_client(self, **parameters: str) -> HttpResponse:
        """Redirect the browser to the client, with its `state`, if it sent one, and our `iss`."""
        parameters["iss"] = settings.SERVICE_URL
        uri = with_query(self.redirect_uri, **parameters, state=self.state)
        # Not HttpResponseRedirect, which refuses private-use schemes; `redirects` has checked it.
        return HttpResponse(status=302, headers={"Location": uri, "Cache-Control": "no-store"})

    @property
    def client_host(self) -> str:
        return redirects.display_host(self.redirect_uri)

    @property
    def is_private_use(self) -> bool:
        return redirects.is_private_use(self.redirect_uri)

    @property
    def is_loopback(self) -> bool:
        """Whether the redirect URI leads to a program on the user's own machine."""
        return self.client_host in redirects.LOOPBACK_HOSTS

    def seal_for(self, kind: str) -> Seal:
        """Seals a sign-in for ten minutes, and for authorization requests of this client, redirect
        URI and challenge only. `kind` is "ticket" for a user who has just signed in, as releases
        before 3.1 know it, and "session" for one who goes on with a session."""
        request_key = f"{self.client.pk} {self.redirect_uri} {self.challenge}"
        return Seal(f"assistants.{kind} {request_key}", seconds=600, is_secret=False)

    def seal_sign_in(self, kind: str, user: User, *session_claims: Claims) -> str:
        """A sealed value that says who is signed in, with the claims of the session if `kind` is
        "session". It holds the id of the grant that a consent creates, so one sign-in creates one
        grant at most."""
        state = [str(user.pk), user.token_version, user.has_second_factor, str(uuid.uuid4())]
        return self.seal_for(kind).seal([*state, *session_claims])

    def unseal_sign_in(self, kind: str, sealed_sign_in: str) -> tuple[User, str, Claims]:
        """The user who signed in, the id of the grant that the consent creates or has created, and
        the claims of the session that the user goes on with, {} after a fresh sign-in. `kind` is
        "ticket" or "session", with which the value was sealed.

        Raises OAuthError if the sealed value is invalid, too old or of another authorization
        request, and if the user may not go on: inactive, signed out since, required to use the
        company's provider, or one who has set up the first second factor or removed the last since.
        """
        try:
            state = self.seal_for(kind).unseal(sealed_sign_in)
        except InvalidSeal:
            raise OAuthError(*FORM_EXPIRED) from None
        user_id, version, has_factor, grant_id, *session_claims = state
        claims = session_claims[0] if session_claims else {}
        user = find_session_user(user_id, version, claims)
        if user is None or user.has_second_factor != has_factor:
            raise OAuthError(*FORM_EXPIRED)
        return user, grant_id, claims


def is_users_act(request: Request) -> bool:
    """Whether the user has pressed a button of our own page, in a window and not in a frame. By
    Fetch Metadata: no script can set these headers. False for browsers from before 2023, which
    don't send all of them."""
    act = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "document", "Sec-Fetch-User": "?1"}
    return all(request.headers.get(name) == value for name, value in act.items())


def session_fields(claims: Claims) -> dict[str, Any]:
    """The fields of a grant that lasts no longer than the session of these claims can; {} without
    claims."""
    if not claims:
        return {}
    end = datetime.fromtimestamp(claims["auth_time"] + max_session_seconds(claims["amr"]), UTC)
    return {"session_end": end, "provider_tag": claims.get("provider")}


class AuthorizeView(CountedView):
    """GET and POST /oauth/authorize, as told above. Errors are pages, too."""

    schema = None  # for browsers; clients find it by the metadata
    http_method_names = ["get", "head", "post"]
    parser_classes = [FormParser]

    def get_throttles(self) -> list[BaseThrottle]:
        """Sign-ins count in the credential tier, all others in the public tier. The URL tells the
        forms apart, as the body is not read yet: in a decision, a password is ignored."""
        is_decision = self.request.GET.get("step") == "decision"
        signs_in = self.request.method == "POST" and not is_decision
        return [CredentialThrottle() if signs_in else PublicThrottle()]

    def get(self, request: Request) -> HttpResponse:
        authorization = AuthorizationRequest.from_request(request)
        return self.render_sign_in(authorization)

    def post(self, request: Request) -> HttpResponse:
        """Answer the form that the URL's `step` names. "decision": redirect to the client as the
        user has decided. "session": ask the user of the browser's session for the decision. Without
        a step: sign in by passkey, or by password with a second factor, and ask for the decision.
        A sign-in that fails leads back to its page with 401.

        Raises OAuthError for a form without this browser's CSRF token, for an invalid authorization
        request in the query, and for a page that is too old. Raises TooManyAttempts while the
        address is locked, and beyond the tier for fetching a client's metadata; or TooManyHashes.
        """
        try:
            SessionAuthentication().enforce_csrf(request)
        except PermissionDenied:
            raise OAuthError(*FORM_EXPIRED) from None
        authorization = AuthorizationRequest.from_request(request)
        step = request.query_params.get("step")
        if step == "decision":
            return self.allow_or_deny(authorization, request)
        if step == "session":
            return self.go_on_with_session(authorization, request)
        if request.POST.get("passkey") and "sealed" not in request.POST:
            return self.sign_in_by_passkey(authorization, request)
        return self.sign_in(authorization, request)

    def go_on_with_session(
        self, authorization: AuthorizationRequest, request: Request
    ) -> HttpResponse:
        """Ask the user of the refresh cookie for the decision. Without a session that goes on, or
        unless `is_users_act`, shows the sign-in form with 401. Raises TooManyAttempts while the
        address is locked for this device."""
        try:
            if not is_users_act(request):
                raise InvalidRefreshToken
            user, claims = find_session(request, request.COOKIES.get(REFRESH_COOKIE, ""))
        except InvalidRefreshToken:
            return self.render_sign_in(authorization, 401, wrong="session")
        return self.ask_for_decision(authorization, "session", user, claims)

    def sign_in_by_passkey(
        self, authorization: AuthorizationRequest, request: Request
    ) -> HttpResponse:
        """Record the sign-in of the user whose passkey is in the form, and show the page of the
        decision; after an invalid passkey, or that of a user who may not sign in here, the sign-in
        page with 401. Lockouts don't apply."""
        try:
            user = find_by_passkey(factor_from_form(request.POST)["passkey"])
        except WrongPasskey:
            return self.render_sign_in(authorization, 401, wrong="passkey")
        record_sign_in(user, Method.PASSKEY_ALONE)
        return self.ask_for_decision(authorization, "ticket", user)

    def sign_in(self, authorization: AuthorizationRequest, request: Request) -> HttpResponse:
        """Check the credentials in the form of either page, record the sign-in, and show the page
        of the decision. After wrong or malformed credentials the first page is shown again with
        401; if a second factor is missing or wrong, or must be set up first, the second page with
        401. Raises TooManyAttempts while the address is locked, TooManyHashes, and OAuthError if
        the second page is older than five minutes."""
        email, password = request.POST.get("email", ""), request.POST.get("password", "")
        if "sealed" in request.POST:  # the form of the second factor
            email, password = unseal_credentials(request.POST["sealed"])
            if not email:
                raise OAuthError(*FORM_EXPIRED)
        credentials: dict[str, Any] = {}
        context: dict[str, Any]
        try:
            credentials = LoginSerializer().run_validation({"email": email, "password": password})
            factor = factor_from_form(request.POST)
            user, method = check_credentials(request, **credentials, **factor)
        except (ValidationError, WrongCredentials):
            # By the domain alone, so that it tells nothing about the address.
            company = providers.rules.find_required_for(credentials.get("email", ""))
            context = {"wrong": "password", "email": email, "company": company}
            return self.render_sign_in(authorization, 401, **context)
        except FactorError as error:
            context = {"authorization": authorization, "reason": type(error).__name__}
            context |= second_page_context(request, email, password)
            return self.render_page("second-factor", 401, **context)
        record_sign_in(user, method)
        return self.ask_for_decision(authorization, "ticket", user)

    def render_sign_in(
        self, authorization: AuthorizationRequest, status: int = 200, **context: Any
    ) -> HttpResponse:
        context |= {"authorization": authorization, "passkey": passkey_options(self.request)}
        return self.render_page("sign-in", status, **context)

    def ask_for_decision(
        self, authorization: AuthorizationRequest, kind: str, user: User, *session_claims: Claims
    ) -> HttpResponse:
        sealed_sign_in = authorization.seal_sign_in(kind, user, *session_claims)
        email = with_readable_domains(user.email)
        context: dict[str, Any] = {"authorization": authorization, "user": user, "email": email}
        return self.render_page("consent", kind=kind, sealed_sign_in=sealed_sign_in, **context)

    def allow_or_deny(self, authorization: AuthorizationRequest, request: Request) -> HttpResponse:
        """Store the grant and redirect to the client with a code. A denial ends the grant of an
        earlier answer to the same page, and redirects with `access_denied`. A form that allows and
        is sent twice leads to the same code, until that is used or too old. Raises OAuthError if
        the sign-in is invalid, over ten minutes old or ended, if a user who goes on with a session
        has not pressed the button, if the code has been used or is too old or its grant has ended,
        and if the user or the client was deleted meanwhile."""
        form = request.POST
        kind = "session" if "session" in form else "ticket"
        user, grant_id, claims = authorization.unseal_sign_in(kind, form.get(kind, ""))
        if claims and not is_users_act(request):
            raise OAuthError(*FORM_EXPIRED)
        if form.get("decision") != "allow":
            for grant in Grant.objects.filter(pk=grant_id):  # allowed before going back
                grant.end(user)
            answer = {"error": "access_denied", "error_description": "The user denied access."}
            return authorization.redirect_to_client(**answer)
        values = {
            "user": user,
            "token_version": user.token_version,
            "client": authorization.client,
            "redirect_uri": authorization.redirect_uri,
            "code_challenge": authorization.challenge,
            **session_fields(claims),
        }
        try:
            grant, _ = Grant.objects.get_or_create(pk=grant_id, defaults=values)
        except IntegrityError:  # the user or the client was deleted meanwhile
            raise OAuthError(*FORM_EXPIRED) from None
        if not grant.can_be_redeemed():
            raise OAuthError(*FORM_EXPIRED)
        return authorization.redirect_to_client(code=grant.authorization_code)

    def render_page(self, name: str, status: int = 200, **context: Any) -> HttpResponse:
        """Render the template `assistants/<name>.html`, in the language of the query's `language`,
        else of Django's language cookie or Accept-Language. `context` is the template's."""
        request = self.request
        query = request.GET.copy()
        query.pop("step", None)
        language = query.get("language", "")
        if language not in dict(settings.LANGUAGES):
            language = translation.get_language_from_request(request)
        context |= {
            "language": language,
            "query": query.urlencode(),
            "languages": settings.LANGUAGES,
            "links": settings.LINKS,
            "forgot": "/forgot-password" if settings.SERVES_PAGES else "",
            "front_end": "" if settings.SERVES_PAGES else settings.FRONTEND_URL,
            "lock_minutes": math.ceil(settings.LOCKOUT_SECONDS / 60),
        }
        with translation.override(language):
            response = render(request, f"assistants/{name}.html", context, status=status)
        policy = PAGE_POLICY
        # The page of the decision runs no script. It sets no form-action, as its form redirects to
        # the client, which may redirect anywhere: Chromium applies form-action to every redirect.
        if name in {"sign-in", "second-factor"}:
            policy += "; connect-src 'self'; script-src 'self'; form-action 'self'"
        response["Content-Security-Policy"] = policy
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        """Any exception as a page, with the status and headers of the API's answer: 500 for an
        unexpected one. Nothing is raised again."""
        answer = super().handle_exception(exc)
        wait = int(answer.headers.get("Retry-After", 0))
        context: dict[str, Any] = {"reason": type(exc).__name__, "wait": wait}
        if isinstance(exc, OAuthError):
            context |= {"error": str(exc.detail)} | exc.extra
        page = self.render_page("problem", answer.status_code, **context)
        for name, value in answer.headers.items():
            page.headers.setdefault(name, value)
        return page
