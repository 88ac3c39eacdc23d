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
decision shows it: so no frame, other site or, except in WebKit, script may make it
(`is_users_act`), and the grant ends when the
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
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import translation
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts import providers
from accounts.models import User
from accounts.tokens import REFRESH_COOKIE, Claims, find_session_user, max_session_seconds
from api.views import CountedView
from assistants import redirects
from assistants.errors import OAuthError
from assistants.models import Client, Grant
from assistants.oauth import check_resource
from base.emails import with_readable_domains
from base.sealed import InvalidSeal, Seal
from base.urls import with_query
from signin.browsers import remember_browser
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
        """The request in the query with which a client has sent the browser here. Raises OAuthError
        for an invalid one, InvalidClient if the client is unknown, and TooManyAttempts, since a
        fetch of the client's metadata document counts in the credential tier. A page shows these:
        as anyone can register a client, a redirect would be an open one (RFC 9700 §4.11.2)."""
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

    def unseal_sign_in(self, form: QueryDict) -> tuple[User, str, Claims]:
        """What `ask_for_decision` has sealed into the form: the user, the id of the grant that a
        consent creates, unless the form was sent before, and the claims of the session that the
        user goes on with, {} after a fresh sign-in.

        Raises OAuthError if the sealed value is invalid, too old or of another authorization
        request, and if the user may not go on: `find_session_user` is None, or the user has set up
        the first second factor or removed the last since.
        """
        kind = "session" if "session" in form else "ticket"
        try:
            state = self.seal_for(kind).unseal(form.get(kind, ""))
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
    Fetch Metadata: no script can set these headers. False for browsers from before 2023, which send
    not all of them.

    WebKit (Safari, and every browser on iOS) sends no `Sec-Fetch-User`, so there a script of our
    own pages could act in the user's place. Only WebKit's User-Agent has "AppleWebKit" without
    "Chrome", and no script can change that of a navigation."""
    agent = request.headers.get("User-Agent", "")
    act = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "document"}
    act["Sec-Fetch-Mode"] = "navigate"
    if "AppleWebKit/" not in agent or "Chrome/" in agent:
        act["Sec-Fetch-User"] = "?1"
    return all(request.headers.get(name) == value for name, value in act.items())


class AuthorizeView(CountedView):
    """GET and POST /oauth/authorize. Errors are pages, too."""

    schema = None  # for browsers; clients find it by the metadata
    http_method_names = ["get", "head", "post"]
    parser_classes = [FormParser]
    authorization: AuthorizationRequest  # set once the query is checked

    def get_throttles(self) -> list[BaseThrottle]:
        """Sign-ins count in the credential tier, all others in the public tier. The URL tells the
        forms apart, as the body is not read yet."""
        is_decision = self.request.GET.get("step") == "decision"
        signs_in = self.request.method == "POST" and not is_decision
        return [CredentialThrottle() if signs_in else PublicThrottle()]

    def get(self, request: Request) -> HttpResponse:
        self.authorization = AuthorizationRequest.from_request(request)
        return self.render_sign_in()

    def post(self, request: Request) -> HttpResponse:
        """Answer the form that the URL's `step` names; without a step, a sign-in's. A sign-in that
        fails shows its page again with 401. Raises OAuthError for a form without this browser's
        CSRF token, TooManyAttempts while the e-mail address is locked, TooManyHashes, and what
        `from_request` and the step raise."""
        try:
            SessionAuthentication().enforce_csrf(request)
        except PermissionDenied:
            raise OAuthError(*FORM_EXPIRED) from None
        self.authorization = AuthorizationRequest.from_request(request)
        step = request.query_params.get("step")
        if step == "decision":
            return self.allow_or_deny(request)
        if step == "session":
            return self.go_on_with_session(request)
        if request.POST.get("passkey") and "sealed" not in request.POST:
            return self.sign_in_by_passkey(request)
        return self.sign_in(request)

    def go_on_with_session(self, request: Request) -> HttpResponse:
        """Ask the user of the refresh cookie for the decision. Without a session, or unless
        `is_users_act`, show the sign-in form with 401. Raises TooManyAttempts while the user's
        address is locked, and OperationalError (503) while no signing key has been read."""
        try:
            if not is_users_act(request):
                raise InvalidRefreshToken
            user, claims = find_session(request, request.COOKIES.get(REFRESH_COOKIE, ""))
        except InvalidRefreshToken:
            return self.render_sign_in(401, wrong="session")
        return self.ask_for_decision(user, claims)

    def sign_in_by_passkey(self, request: Request) -> HttpResponse:
        """Sign in the user whose passkey is in the form, and ask for the decision. If the passkey
        is invalid, show the sign-in form with 401. Lockouts don't apply."""
        try:
            user = find_by_passkey(factor_from_form(request.POST)["passkey"])
        except WrongPasskey:
            return self.render_sign_in(401, wrong="passkey")
        record_sign_in(request, user, Method.PASSKEY_ALONE)
        return self.ask_for_decision(user)

    def sign_in(self, request: Request) -> HttpResponse:
        """Sign in by the credentials in the form of either page, and ask for the decision. If the
        password is wrong, show the sign-in form with 401; if a second factor is missing or wrong,
        or must be set up first, the second page with 401. Raises OAuthError if that page is older
        than five minutes, TooManyAttempts while the e-mail address is locked, and TooManyHashes."""
        email, password = request.POST.get("email", ""), request.POST.get("password", "")
        if "sealed" in request.POST:  # the form of the second factor
            email, password = unseal_credentials(request.POST["sealed"])
            if not email:
                raise OAuthError(*FORM_EXPIRED)
        credentials: dict[str, Any] = {}
        try:
            credentials = LoginSerializer().run_validation({"email": email, "password": password})
            factor = factor_from_form(request.POST)
            user, method = check_credentials(request, **credentials, **factor)
        except (ValidationError, WrongCredentials):
            # By the domain alone, so that it tells nothing about the address.
            company = providers.rules.find_required_for(credentials.get("email", ""))
            return self.render_sign_in(401, wrong="password", email=email, company=company)
        except FactorError as error:
            context = second_page_context(request, email, password)
            reason = type(error).__name__
            return self.render_page("second-factor", 401, reason=reason, **context)
        record_sign_in(request, user, method)
        return self.ask_for_decision(user)

    def ask_for_decision(self, user: User, session_claims: Claims | None = None) -> HttpResponse:
        """Show the page of the decision. Its form holds, sealed, who is signed in, the claims of
        the session that the user goes on with (None after a fresh sign-in) and the id of the grant
        that a consent creates, so one sign-in creates one grant at most."""
        kind = "session" if session_claims else "ticket"
        state = [str(user.pk), user.token_version, user.has_second_factor, str(uuid.uuid4())]
        state += [session_claims] if session_claims else []
        sealed_sign_in = self.authorization.seal_for(kind).seal(state)
        email = with_readable_domains(user.email)
        response = self.render_page(
            "consent", user=user, email=email, kind=kind, sealed_sign_in=sealed_sign_in
        )
        if session_claims is None:
            remember_browser(self.request, response, user)
        return response

    def allow_or_deny(self, request: Request) -> HttpResponse:
        """Store the grant and redirect to the client with a code. A form that is sent twice leads
        to the same code, until that is used or too old. A denial ends the grant of an earlier
        answer to the same page, and redirects with `access_denied`.

        Raises OAuthError if the sign-in or the code is no longer valid, if a user who goes on with
        a session has not pressed the button, and if the user or the client was deleted meanwhile.
        """
        user, grant_id, claims = self.authorization.unseal_sign_in(request.POST)
        if claims and not is_users_act(request):
            raise OAuthError(*FORM_EXPIRED)
        if request.POST.get("decision") != "allow":
            for grant in Grant.objects.filter(pk=grant_id):  # allowed before going back
                grant.end(user)
            answer = {"error": "access_denied", "error_description": "The user denied access."}
            return self.authorization.redirect_to_client(**answer)
        values = {
            "user": user,
            "token_version": user.token_version,
            "client": self.authorization.client,
            "redirect_uri": self.authorization.redirect_uri,
            "code_challenge": self.authorization.challenge,
        }
        if claims:  # the grant lasts no longer than the session can
            end = claims["auth_time"] + max_session_seconds(claims["amr"])
            values["session_end"] = datetime.fromtimestamp(end, UTC)
            values["provider_tag"] = claims.get("provider")
        try:
            grant, _ = Grant.objects.get_or_create(pk=grant_id, defaults=values)
        except IntegrityError:  # the user or the client was deleted meanwhile
            raise OAuthError(*FORM_EXPIRED) from None
        if not Grant.objects.redeemable().filter(pk=grant.pk).exists():
            raise OAuthError(*FORM_EXPIRED)
        return self.authorization.redirect_to_client(code=grant.authorization_code)

    def render_sign_in(self, status: int = 200, **context: Any) -> HttpResponse:
        passkey = passkey_options(self.request)
        return self.render_page("sign-in", status, passkey=passkey, **context)

    def render_page(self, name: str, status: int = 200, **context: Any) -> HttpResponse:
        """Render the template `assistants/<name>.html`, in the language that the query's `language`
        names, else that of the language cookie or Accept-Language."""
        request = self.request
        query = request.GET.copy()
        query.pop("step", None)
        language = query.get("language", "")
        if language not in dict(settings.LANGUAGES):
            language = translation.get_language_from_request(request)
        context |= {
            "authorization": getattr(
                self, "authorization", None
            ),  # missing if the request was refused before
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
        """Any exception, also an unexpected one (500), as a page, with the status and headers of
        the API's answer."""
        answer = super().handle_exception(exc)
        wait = int(answer.headers.get("Retry-After", 0))
        context: dict[str, Any] = {"reason": type(exc).__name__, "wait": wait}
        if isinstance(exc, OAuthError):
            context |= {"error": str(exc.detail)} | exc.extra
        page = self.render_page("problem", answer.status_code, **context)
        for name, value in answer.headers.items():
            page.headers.setdefault(name, value)
        return page
