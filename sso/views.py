"""The calls of a sign-in at a company's provider, in their order: find the provider, go there,
return, redeem the code for a session. Then those that begin a re-authentication or a test."""

from uuid import UUID

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.core.validators import RegexValidator
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils.translation import get_language_from_request
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

import audit
from accounts.models import User
from api.fields import EmailField, TextField
from api.openapi import Raises, example, sets_cookie
from api.views import CountedView, CredentialView, IsAdmin, ProtectedView, SignedInRequest
from audit.actors import COMMAND
from audit.models import Kind
from metrics import series
from signin.credentials import record_sign_in
from signin.factors.methods import Method
from signin.reauthentication import seal_reauthentication
from signin.serializers import SETS_REFRESH_COOKIE, AuthResponse
from signin.sessions import session_response
from sso import errors, flow, linking
from sso.errors import Reason, Refusal
from sso.flow import BrowserAttempt, HandoverCode, StartTicket
from sso.models import IdentityProvider
from sso.openid import Person
from throttling.errors import TooManyAttempts
from throttling.throttles import CredentialThrottle

EXAMPLE_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
REMOVED_ERRORS = (ObjectDoesNotExist, NotFound)  # of a provider or company that was deleted
EXAMPLE_START_URL = (
    "https://auth.example.com/auth/sso/0b9a3a52-6d0e-4a7e-9d5b-5f4f0f3a7c11/start?ticket=gAAAA…"
)


VALIDATE_CHALLENGE = RegexValidator(  # RFC 7636 §4.2
    "^[A-Za-z0-9_-]{43}$", "Must be a SHA-256 in base64url.", "challenge"
)


@example({"challenge": EXAMPLE_CHALLENGE})
class ChallengeSerializer(serializers.Serializer):
    challenge = TextField(
        validators=[VALIDATE_CHALLENGE], help_text="The SHA-256 of a verifier, in base64url."
    )


@example({"email": "ada@example.com", "challenge": EXAMPLE_CHALLENGE})
class DiscoverSerializer(ChallengeSerializer):
    email = EmailField()


@example({"company": "Analytical Engines", "url": EXAMPLE_START_URL, "required": False})
class DiscoverResponse(serializers.Serializer):
    company = serializers.CharField(allow_null=True)
    url = serializers.CharField(allow_null=True, help_text="Send the browser there.")
    required = serializers.BooleanField(  # type: ignore[assignment]
        help_text="Whether its users must sign in there. Admins with `keeps_password` can also "
        "sign in by password."
    )


@example({"url": EXAMPLE_START_URL})
class TestResponse(serializers.Serializer):
    url = serializers.CharField(help_text="Send the browser there.")


@example({"code": "gAAAAABm…", "verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"})
class HandOverSerializer(serializers.Serializer):
    code = TextField(max_length=2000)
    verifier = TextField(max_length=128)


class FindProviderView(CountedView):
    """POST /auth/sso: find the provider for an address by its domain alone, so that the answer
    doesn't reveal who is registered."""

    @extend_schema(
        operation_id="findProvider",
        summary="Find the company's provider",
        description="By the address's domain alone: the answer is the same whether or not the "
        "address is registered. Without a provider `company` and `url` are null.",
        request=DiscoverSerializer,
        responses={200: DiscoverResponse},
    )
    def post(self, request: Request) -> Response:
        body = self.validated_body(DiscoverSerializer)
        provider = IdentityProvider.objects.find_active_for(body["email"])
        if provider is None:
            return Response({"company": None, "url": None, "required": False})
        email, challenge = body["email"], body["challenge"]
        url = StartTicket(connection=str(provider.pk), email=email, challenge=challenge).url
        company_name = provider.account.name
        return Response({"company": company_name, "url": url, "required": provider.required})


class BrowserView(CountedView):
    """Base of the two calls that the browser makes itself."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Count and check the request as CountedView does. Raises PrefetchRefused for one that the
        user has not made yet, besides what CountedView raises."""
        super().initial(request, *args, **kwargs)
        purposes = request.headers.get("Sec-Purpose"), request.headers.get("Purpose")
        if any(purpose and "prefetch" in purpose for purpose in purposes):
            raise errors.PrefetchRefused

    def head(self, request: Request, connection_id: UUID) -> Response:
        """Answer programs that preview links, without using the ticket up."""
        return Response()

    def handle_exception(self, exc: Exception) -> Response:
        """Redirect the browser to the front-end with the reason of a Refusal, or with SWITCHED_OFF
        for ObjectDoesNotExist and NotFound (a deleted provider or company), and count the reason in
        the metrics. Other exceptions are answered as in the API, an unknown one with 500."""
        if isinstance(exc, REMOVED_ERRORS):
            exc = Refusal(Reason.SWITCHED_OFF)
        if not isinstance(exc, Refusal):
            return super().handle_exception(exc)
        series.sso_sign_ins.labels(exc.reason).inc()
        return redirect_to_frontend("error", exc.reason)


def redirect_to_frontend(name: str, value: str) -> Response:
    """Redirect to the front-end's page /sso, with a fragment, which browsers send to no server."""
    return redirect_to(f"{settings.FRONTEND_URL}/sso#{name}={value}")


def redirect_to(url: str) -> Response:
    return Response(status=302, headers={"Location": url})


class StartAtProviderView(BrowserView):
    """GET /auth/sso/{id}/start: bind the sign-in to this browser, and send it to the provider."""

    @extend_schema(
        operation_id="startAtProvider",
        summary="Go to the company's provider",
        description="For browsers: the `url` of other calls leads here. Redirects to the provider, "
        "or to the front-end's `/sso#error=…`.",
        parameters=[
            OpenApiParameter("ticket", str),
            sets_cookie(
                "`service_sso`: this tab's attempt; `service_sso_2` and `_3`: those of tabs before "
                "it; HttpOnly, `SameSite=Lax`.",
                302,
            ),
        ],
        responses={302: None},
    )
    def get(self, request: Request, connection_id: UUID) -> Response:
        provider = IdentityProvider.objects.get(pk=connection_id)  # `handle_exception` redirects
        ticket = StartTicket.unseal(request.query_params.get("ticket", ""))
        url, attempt = flow.begin_sign_in(provider, ticket)
        response = redirect_to(url)
        flow.set_cookies(response, attempt, request.COOKIES)
        return response


class ReturnFromProviderView(BrowserView):
    """GET /auth/sso/{id}/callback: finish the sign-in, and send the browser to the front-end."""

    cookie = ""  # the name of the attempt's

    @extend_schema(
        operation_id="returnFromProvider",
        summary="Return from the company's provider",
        description="For browsers: the provider sends them here. Redirects to the front-end's "
        "`/sso#code=…`, `/sso#proof=…`, `/sso#tested=true` or `/sso#error=…`. `error` is one of "
        f"`{'`, `'.join(Reason)}`.",
        parameters=[
            *(OpenApiParameter(name, str) for name in ("code", "state", "iss", "error")),
            sets_cookie("The attempt's cookie, emptied.", 302),
        ],
        responses={
            302: None,
            403: Raises(errors.PrefetchRefused),
            429: Raises(TooManyAttempts),  # failures count as credential calls
        },
    )
    def get(self, request: Request, connection_id: UUID) -> Response:
        """Finish the sign-in that the cookies' attempt with the query's `state` began. A failure is
        counted in the credential tier, which raises TooManyAttempts beyond its limit. A Refusal,
        also without that attempt, and ObjectDoesNotExist and NotFound for a deleted provider or
        company are raised, and answered by `handle_exception`."""
        attempt = person = None
        try:
            provider = IdentityProvider.objects.get(pk=connection_id)
            answer = request.query_params.dict()
            attempt, self.cookie = flow.find_attempt(request.COOKIES, answer.get("state", ""))
            person = flow.finish_sign_in(provider, attempt, answer)
            linking.require_verified_email(provider, person)
            return self.complete_sign_in(request, provider, attempt, person)
        except (Refusal, *REMOVED_ERRORS) as error:
            CredentialThrottle().allow_request(request)
            if attempt and isinstance(error, Refusal):
                record_refusal(provider, attempt, error, person)
            raise

    def complete_sign_in(
        self, request: Request, provider: IdentityProvider, attempt: BrowserAttempt, person: Person
    ) -> Response:
        """Redirect the browser to the front-end with the result: `tested` for an admin's test,
        which is recorded, a sealed proof for a re-authentication, else a HandoverCode for a session
        of the person's user, who is created if need be. Raises Refusal: EXPIRED if the provider
        that was tested has been configured anew or removed since it was read, another reason for a
        person who may not sign in; or NotFound if the company was deleted."""
        if attempt.tester:
            tester = User.objects.filter(pk=attempt.tester).first()
            # An admin who was erased during the test can't be recorded as its actor.
            if not provider.record_test(tester or COMMAND):
                raise Refusal(Reason.EXPIRED)
            series.sso_sign_ins.labels("tested").inc()
            return redirect_to_frontend("tested", "true")
        if attempt.caller:
            user = linking.find_reauthenticated_user(provider, person, attempt.caller)
            series.sso_sign_ins.labels("confirmed").inc()
            return redirect_to_frontend("proof", seal_reauthentication(user))
        user = linking.find_or_create_user(provider, person, get_language_from_request(request))
        code = HandoverCode(
            connection=attempt.connection,
            challenge=attempt.challenge,
            user=str(user.pk),
            token_version=user.token_version,
        )
        series.sso_sign_ins.labels("ok").inc()
        provider.record_success()
        return redirect_to_frontend("code", code.seal())

    def finalize_response(
        self, request: Request, response: Response, *args: object, **kwargs: object
    ) -> Response:
        """Let every redirect clear the attempt's cookie, since the attempt is over."""
        response = super().finalize_response(request, response, *args, **kwargs)
        if self.cookie and response.status_code == 302:
            flow.set_cookie(response, self.cookie, self.kwargs["connection_id"], "")
        return response


def record_refusal(
    provider: IdentityProvider, attempt: BrowserAttempt, refusal: Refusal, person: Person | None
) -> None:
    """Store a fault of the provider as its last problem; of a test, also the reasons PROVIDER and
    UNVERIFIED. Except for a test, record a failed sign-in in the audit log for a fault, and for any
    refusal of a `person` whom the provider has named: before that, anyone could cause one."""
    is_fault = isinstance(refusal, errors.ProviderFailed)
    if is_fault or (attempt.tester and refusal.reason in {Reason.PROVIDER, Reason.UNVERIFIED}):
        provider.record_problem(str(refusal), is_down=isinstance(refusal, errors.ProviderDown))
    if not attempt.tester and (is_fault or person):
        subject = linking.subject_of_event(provider, person) if person else provider.issuer
        company_id, reason = provider.account_id, f"provider: {refusal}"
        audit.record(Kind.LOGIN_FAILED, subject=subject, account_id=company_id, reason=reason)
        series.sso_failures.inc()


class RedeemHandoverCodeView(CredentialView):
    """POST /auth/sso/redeem: return a session for the code in the front-end's URL."""

    @extend_schema(
        operation_id="redeemProviderCode",
        summary="Sign in after the company's provider",
        description="The code works once, within 60 seconds, with the verifier of the challenge.",
        request=HandOverSerializer,
        responses={200: AuthResponse, 400: Raises(errors.InvalidCode)},
        parameters=[SETS_REFRESH_COOKIE],
    )
    def post(self, request: Request) -> Response:
        body = self.validated_body(HandOverSerializer)
        try:
            with transaction.atomic():
                user = HandoverCode.unseal(body["code"]).redeem(body["verifier"])
                record_sign_in(request, user, Method.SSO)
        except Refusal:
            raise errors.InvalidCode from None
        return session_response(request, user, Method.SSO)


class ReauthenticateAtProviderView(ProtectedView):
    """POST /auth/sso/confirm: re-authenticate at the company's provider."""

    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="confirmAtProvider",
        summary="Sign in again at the company's provider",
        description="For callers who sign in there, and may have no password. Ends at the "
        "front-end's `/sso#proof=…` or `/sso#error=…`. The calls that need a password take the "
        "`proof` instead, once, for five minutes. 404 for callers who have not signed in there, "
        "and while the provider is off.",
        request=None,
        responses={200: TestResponse, 404: Raises(errors.NoIdentityProvider)},
    )
    def post(self, request: SignedInRequest) -> Response:
        user = request.user
        providers = IdentityProvider.objects.filter(identities__user=user, active=True)
        provider = providers.filter(account=user.account_id).first()
        if provider is None:
            raise errors.NoIdentityProvider
        ticket = StartTicket(
            connection=str(provider.pk),
            challenge="",  # none is needed: only the caller's session can use the proof
            email=user.email,
            caller=str(user.pk),
        )
        return Response({"url": ticket.url})


class TestProviderView(ProtectedView):
    """POST /account/connection/test: begin a sign-in that tests the provider, without a session."""

    permission_classes = [IsAdmin]
    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="testConnection",
        summary="Test the connection to the company's provider",
        description="Ends at the front-end's `/sso#tested=true` or `/sso#error=…`. A connection "
        "can be switched on after a test with its present issuer, client, secret and "
        "`trusts_emails`.",
        request=ChallengeSerializer,
        responses={200: TestResponse, 404: Raises(errors.NoIdentityProvider)},
    )
    def post(self, request: SignedInRequest) -> Response:
        challenge, user = self.validated_body(ChallengeSerializer)["challenge"], request.user
        provider = get_object_or_404(IdentityProvider, account=user.account_id)
        ticket = StartTicket(
            connection=str(provider.pk),
            challenge=challenge,
            email=user.email,
            tester=str(user.pk),
        )
        return Response({"url": ticket.url})
