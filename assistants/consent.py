"""GET and POST /oauth/authorize: the pages on which a user allows or denies a client access.

The pages have plain forms. They follow RFC 6749 §4.1, RFC 9700 and RFC 9207:

1. A GET checks the client's request and shows the sign-in form.
2. The first POST signs the user in, with the checks, lockout and tier of POST /auth/login. If a
   second factor is needed, the page asks for it, and is posted once more.
3. The answer asks for the decision. A sealed value in its form carries the sign-in, so nothing is
   stored yet.
4. The second POST, with `?step=decision`, stores the grant and redirects to the client with a code,
   or with the error `access_denied`.
"""

import math
import re
import uuid
from dataclasses import dataclass
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

from accounts.models import User
from accounts.tokens import find_session_user
from api.views import CountedView
from assistants import redirects
from assistants.errors import OAuthError
from assistants.models import Client, Grant
from assistants.oauth import check_resource
from base.sealed import InvalidSeal, Seal
from base.urls import with_query
from signin.credentials import check_credentials, record_sign_in
from signin.errors import FactorError, WrongCredentials
from signin.factors.forms import factor_from_form, second_page_context, unseal_credentials
from signin.serializers import LoginSerializer
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
        """Check the query of a browser that a client has sent here. Raises OAuthError for a request
        that cannot be granted, such as InvalidClient for an unknown client. The page shows the
        error: as anyone can register a client, redirecting to it would be an open redirect (RFC
        9700 §4.11.2). Raises TooManyAttempts, since fetching a metadata document counts as a
        credential call."""
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
        """Redirect the browser to the client, with its `state` and our `iss`."""
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
        """Whether the client is a program on the user's own machine."""
        return self.client_host in redirects.LOOPBACK_HOSTS

    @property
    def sign_in_seal(self) -> Seal:
        """Seals a sign-in for ten minutes, and for this authorization request only."""
        request_key = f"{self.client.pk} {self.redirect_uri} {self.challenge}"
        return Seal(f"assistants.ticket {request_key}", seconds=600, is_secret=False)

    def seal_sign_in(self, user: User) -> str:
        """A sealed value that says that the user has just signed in. It holds the id of the grant
        that a consent creates, so one sign-in creates one grant at most."""
        user_state = [user.token_version, user.has_second_factor]
        return self.sign_in_seal.seal([str(user.pk), *user_state, str(uuid.uuid4())])

    def unseal_sign_in(self, sealed_sign_in: str) -> tuple[User, str]:
        """The user who signed in, and the id of the grant that the consent creates or has created.
        Raises OAuthError if the sealed value is invalid, too old or of another authorization
        request, and if the user may not go on: inactive, signed out since, required to use the
        company's provider, or one who has set up the first second factor or removed the last since.
        """
        try:
            user_id, version, has_factor, grant_id = self.sign_in_seal.unseal(sealed_sign_in)
        except InvalidSeal:
            raise OAuthError(*FORM_EXPIRED) from None
        user = find_session_user(user_id, version)
        if user is None or user.has_second_factor != has_factor:
            raise OAuthError(*FORM_EXPIRED)
        return user, grant_id


class AuthorizeView(CountedView):
    """GET and POST /oauth/authorize, as told above. Errors are pages, too."""

    schema = None  # for browsers; clients find it by the metadata
    http_method_names = ["get", "head", "post"]
    parser_classes = [FormParser]

    def get_throttles(self) -> list[BaseThrottle]:
        """Sign-ins count in the credential tier, all others in the public tier. The URL tells the
        forms apart, as the body is not read yet: with `step`, a password in it is ignored."""
        signs_in = self.request.method == "POST" and "step" not in self.request.GET
        return [CredentialThrottle() if signs_in else PublicThrottle()]

    def get(self, request: Request) -> HttpResponse:
        authorization = AuthorizationRequest.from_request(request)
        return self.render_page("sign-in", authorization=authorization)

    def post(self, request: Request) -> HttpResponse:
        """Take the decision if the URL has `step`, else sign the user in. Raises OAuthError for a
        form without this browser's CSRF token and for an invalid query, and TooManyAttempts."""
        try:
            SessionAuthentication().enforce_csrf(request)
        except PermissionDenied:
            raise OAuthError(*FORM_EXPIRED) from None
        authorization = AuthorizationRequest.from_request(request)
        if "step" in request.query_params:
            return self.allow_or_deny(authorization, request.POST)
        return self.sign_in(authorization, request)

    def sign_in(self, authorization: AuthorizationRequest, request: Request) -> HttpResponse:
        """Check the credentials in the form of either page, record the sign-in, and show the page
        of the decision. After wrong credentials the first page is shown again with 401; if a second
        factor is missing or wrong, or must be set up first, the second page with 401. Raises
        TooManyAttempts while the address is locked, TooManyHashes, and OAuthError if the second
        page is older than five minutes."""
        email, password = request.POST.get("email", ""), request.POST.get("password", "")
        if "sealed" in request.POST:  # the form of the second factor
            email, password = unseal_credentials(request.POST["sealed"])
            if not email:
                raise OAuthError(*FORM_EXPIRED)
        credentials = {"email": email, "password": password}
        context: dict[str, Any]
        try:
            credentials = LoginSerializer().run_validation(credentials)
            factor = factor_from_form(request.POST)
            user, method = check_credentials(request, **credentials, factor=factor)
        except (ValidationError, WrongCredentials):
            context = {"authorization": authorization, "wrong": True, "email": email}
            return self.render_page("sign-in", 401, **context)
        except FactorError as error:
            context = {"authorization": authorization, "reason": type(error).__name__}
            context |= second_page_context(request, email, password)
            return self.render_page("second-factor", 401, **context)
        record_sign_in(user, method)
        context = {"authorization": authorization, "user": user}
        context["sealed_sign_in"] = authorization.seal_sign_in(user)
        return self.render_page("consent", **context)

    def allow_or_deny(self, authorization: AuthorizationRequest, form: QueryDict) -> HttpResponse:
        """Store the grant and redirect to the client with a code. A denial ends the grant of an
        earlier answer to the same page, and redirects with `access_denied`. A form that allows and
        is sent twice leads to the same code. Raises OAuthError if the sign-in is invalid, over ten
        minutes old or ended, if the code has been used or is too old, and if the user was erased
        meanwhile."""
        user, grant_id = authorization.unseal_sign_in(form.get("ticket", ""))
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
        }
        try:
            grant, _ = Grant.objects.get_or_create(pk=grant_id, defaults=values)
        except IntegrityError:  # the user was erased meanwhile
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
            "lock_minutes": math.ceil(settings.LOCKOUT_SECONDS / 60),
        }
        with translation.override(language):
            response = render(request, f"assistants/{name}.html", context, status=status)
        policy = PAGE_POLICY
        # The page of the decision runs no script. It sets no form-action, as its form redirects to
        # the client, which may redirect anywhere: Chromium applies form-action to every redirect.
        if name in {"sign-in", "second-factor"}:
            policy += "; script-src 'self'; form-action 'self'"
        response["Content-Security-Policy"] = policy
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        """The error as a page, with the status and headers of the API's answer."""
        answer = super().handle_exception(exc)
        wait = int(answer.headers.get("Retry-After", 0))
        context: dict[str, Any] = {"reason": type(exc).__name__, "wait": wait}
        if isinstance(exc, OAuthError):
            context |= {"error": str(exc.detail)} | exc.extra
        page = self.render_page("problem", answer.status_code, **context)
        for name, value in answer.headers.items():
            page.headers.setdefault(name, value)
        return page
