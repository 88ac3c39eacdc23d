"""GET and POST /oauth/authorize: the page on which a person lets an assistant in, or does not.

Plain forms. First the person signs in, by the same check, lockout and tier as log-in has; a script
shows the password, or asks for a passkey, and all works without it. Then the page, without any
script, says who asks, where the answer goes and what it may do, and two buttons decide. What was
found out by the first form comes back with the second in a signed ticket, so that nothing is stored
before the yes. RFC 6749 §4.1, RFC 9700, RFC 9207.
"""

import math
import re
import uuid
from dataclasses import dataclass
from typing import Any, Self

from django.conf import settings
from django.core import signing
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.templatetags.static import static
from django.utils import translation
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import User
from assistants import redirects
from assistants.exceptions import (
    AlreadyAnswered,
    FormExpired,
    InvalidRedirectURI,
    InvalidRequest,
    InvalidTarget,
    OAuthError,
    UnsupportedResponseType,
)
from assistants.models import Client, Grant
from assistants.oauth import check_target, single_param
from audit.macs import TimestampSigner
from signin.errors import FactorNeeded, WrongCredentials
from signin.factors.forms import form_proof, second_page, unseal
from signin.login import check_credentials
from signin.serializers import LoginSerializer
from throttling.throttles import CredentialThrottle, PublicThrottle
from throttling.views import CountedView

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # base64url of a SHA-256 digest
TICKET_SECONDS = 600
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class AuthorizationRequest:
    """What a client sent the browser here with, once its client and redirect URI are known."""

    query: QueryDict
    client: Client
    redirect_uri: str

    @classmethod
    def read(cls, query: QueryDict) -> Self:
        """Raises OAuthError for what may not even be redirected: nobody knows where to."""
        client = Client.objects.find_or_fetch(single_param(query, "client_id"))
        redirect_uri = single_param(query, "redirect_uri")
        if not redirects.is_registered(redirect_uri, client.redirect_uris):
            raise InvalidRedirectURI("The redirect_uri is not one of the client's.")
        return cls(query, client, redirect_uri)

    def refusal(self, *, signed_in: bool = False) -> HttpResponse | None:
        """The redirect that tells the client what is wrong with its request, if anything is.

        Anybody may register a client, so for one that nobody has let in the OAuthError is raised,
        unless this person has signed in: else we would be an open redirect (RFC 9700 §4.11.2).
        """
        try:
            self.check()
        except OAuthError as wrong:
            if not (signed_in or self.client.is_let_in()):
                raise
            return self.answer(**wrong.body)
        return None

    def check(self) -> None:
        """Raise OAuthError for a request that cannot be granted."""
        single_param(self.query, "state")
        if single_param(self.query, "response_type") != "code":
            raise UnsupportedResponseType("The response_type must be code")
        if single_param(self.query, "code_challenge_method") != "S256":
            raise InvalidRequest("PKCE is required, and its code_challenge_method must be S256")
        if not CHALLENGE.fullmatch(self.challenge):
            raise InvalidRequest("The code_challenge must be 43 characters of base64url")
        if "resource" not in self.query:
            raise InvalidTarget("The resource is missing")
        check_target(self.query)

    @property
    def challenge(self) -> str:
        return single_param(self.query, "code_challenge")

    def answer(self, **parameters: str) -> HttpResponse:
        """Send the browser back to the client, with the state as it came and who answers."""
        state = self.query.get("state")
        uri = redirects.with_query(
            self.redirect_uri, **parameters, state=state, iss=settings.SERVICE_URL
        )
        # Not HttpResponseRedirect, which knows no private-use schemes; `redirects` has checked it.
        return HttpResponse(status=302, headers={"Location": uri, "Cache-Control": "no-store"})

    @property
    def host(self) -> str:
        return redirects.host(self.redirect_uri)

    @property
    def is_private_use(self) -> bool:
        """Whether the answer goes to whichever program has taken a scheme of its own."""
        return redirects.is_private_use(self.redirect_uri)

    @property
    def is_loopback(self) -> bool:
        """Whether the answer goes to a program on the person's own machine."""
        return self.host in redirects.LOOPBACK

    def policy(self) -> str:
        """What the page may do: show itself, and send its form, which leads to the client."""
        # CSP has no way to name an IPv6 address.
        target = redirects.origin(self.redirect_uri) if self.host[0] != "[" else "http:"
        return f"{POLICY}; form-action 'self' {target}"

    def signer(self) -> TimestampSigner:
        """Signs tickets that are good for this request alone."""
        bound = f"{self.client.pk} {self.redirect_uri} {self.challenge}"
        return TimestampSigner(salt=f"assistants.ticket {bound}")

    def ticket(self, user: User) -> str:
        """Says that this user has just signed in, with a second factor or having none, and which
        grant a yes will make: a second click can make no second one."""
        state = [user.token_version, user.has_second_factor]
        return self.signer().sign_object([str(user.pk), *state, str(uuid.uuid4())])

    def user_of_ticket(self, ticket: str) -> tuple[User, uuid.UUID]:
        """The user of a ticket, and the grant's id; FormExpired where it is no longer good."""
        try:
            signed = self.signer().unsign_object(ticket, max_age=TICKET_SECONDS)
            pk, version, factor, grant = signed
            user = User.objects.select_related("account").get(
                pk=pk, token_version=version, has_second_factor=factor, is_active=True
            )
        except (signing.BadSignature, ValueError, User.DoesNotExist):
            raise FormExpired from None
        return user, uuid.UUID(grant)


class AuthorizeView(CountedView):
    """The page: a GET asks to sign in, the first POST does, the second one decides."""

    schema = None  # for browsers; clients learn of it by the metadata
    http_method_names = ["get", "head", "post"]
    parser_classes = [FormParser]

    def get_throttles(self) -> list[BaseThrottle]:
        """Who signs in guesses at a password. That form is told by its URL, before its body is
        read; a password that comes to the other URL is not looked at."""
        signs_in = self.request.method == "POST" and "step" not in self.request.GET
        return [CredentialThrottle() if signs_in else PublicThrottle()]

    def get(self, request: Request) -> HttpResponse:
        asked = AuthorizationRequest.read(request.query_params)
        return asked.refusal() or self.page("sign-in", asked=asked)

    def post(self, request: Request) -> HttpResponse:
        self.check_form(request)
        asked = AuthorizationRequest.read(request.query_params)
        if "decision" in request.POST:
            return self.decide(asked, request)
        return asked.refusal() or self.sign_in(asked, request)

    def check_form(self, request: Request) -> None:
        """Refuse a form that another site made the browser send."""
        try:
            SessionAuthentication().enforce_csrf(request)
        except PermissionDenied:
            raise FormExpired from None

    def sign_in(self, asked: AuthorizationRequest, request: Request) -> HttpResponse:
        if "step" in request.query_params:
            raise FormExpired
        email, password = request.POST.get("email", ""), request.POST.get("password", "")
        if "sealed" in request.POST:
            email, password = unseal(request.POST["sealed"])
        typed = LoginSerializer(data={"email": email, "password": password})
        try:
            typed.is_valid(raise_exception=True)
            proof = form_proof(request.POST)
            user, _ = check_credentials(request, **typed.validated_data, proof=proof)
        except (ValidationError, WrongCredentials):
            return self.page("sign-in", 401, asked=asked, wrong=True, email=email)
        except FactorNeeded as needed:
            second = second_page(request, email, password) | {"problem": type(needed).__name__}
            return self.page("second-factor", 401, asked=asked, **second)
        Client.objects.hold(asked.client)
        return self.page("consent", asked=asked, user=user, ticket=asked.ticket(user))

    def decide(self, asked: AuthorizationRequest, request: Request) -> HttpResponse:
        user, grant_id = asked.user_of_ticket(request.POST.get("ticket", ""))
        refusal = asked.refusal(signed_in=True)
        if refusal is not None:
            return refusal
        if request.POST["decision"] != "allow":
            return asked.answer(error="access_denied", error_description="The person said no.")
        grant, made = Grant.objects.get_or_create(
            pk=grant_id,
            defaults={
                "user": user,
                "client": asked.client,
                "redirect_uri": asked.redirect_uri,
                "code_challenge": asked.challenge,
                "token_version": user.token_version,
            },
        )
        if not made:
            raise AlreadyAnswered
        return asked.answer(code=grant.code)

    def page(self, name: str, status: int = 200, **context: Any) -> HttpResponse:
        """A page in the language that was chosen on it, else of Django's language cookie, else of
        Accept-Language."""
        request = self.request
        again = request.GET.copy()
        again.pop("step", None)
        language = again.get("language", "")
        if language not in dict(settings.LANGUAGES):
            language = translation.get_language_from_request(request)
        context |= {"language": language, "query": again.urlencode()}
        again.pop("language", None)
        context |= {
            "languages": settings.LANGUAGES,
            "query_here": again.urlencode(),
            "links": settings.LINKS,
            "forgot": "/forgot-password" if settings.SERVES_PAGES else "",
            "lock": math.ceil(settings.LOCKOUT_SECONDS / 60),
        }
        with translation.override(language):
            response = render(request, f"assistants/{name}.html", context, status=status)
        asked: AuthorizationRequest | None = context.get("asked")
        policy = asked.policy() if asked else POLICY
        if context.get("passkey"):  # for its button
            policy += "; script-src 'self'"
        elif name == "sign-in" and "[" not in (host := request.get_host()):
            policy += f"; script-src {host}{static('signin/show.js')}"  # that file, and no other
        response["Content-Security-Policy"] = policy
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        """A page for a person, in place of the API's JSON."""
        answer = super().handle_exception(exc)
        wait = answer.headers.get("Retry-After")
        page = self.page("problem", answer.status_code, problem=type(exc).__name__, wait=wait)
        for name, value in answer.headers.items():
            page.headers.setdefault(name, value)
        return page
