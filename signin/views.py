"""The calls for sign-up, sign-in, refresh, sign-out, unlocking and known devices (interface §4),
and for one user of the caller's company."""

from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import get_language_from_request
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import tokens
from accounts.errors import (
    CannotKeepPassword,
    EmailTaken,
    LastAdmin,
    LastBreakGlassAdmin,
    SignInAtProvider,
)
from accounts.serializers import ChangedUser, CompanyUser, RoleOrActiveSerializer
from accounts.views import get_colleague_or_404
from api.openapi import Raises, describe_credential, sets_cookie
from api.views import CountedView, CredentialView, IsAdmin, ProtectedView, Scope, SignedInRequest
from audit.models import AuditEvent
from mail.errors import InvalidLink
from mail.outbox import OutgoingMail
from signin import serializers
from signin.cookies import clear_refresh_cookie
from signin.credentials import check_credentials, record_sign_in
from signin.devices import Device, remember_device
from signin.errors import FACTOR_ERRORS, InvalidRefreshToken, WrongCredentials
from signin.factors.serializers import ProofSerializer
from signin.models import SignupLink, UnlockLink
from signin.reauthentication import REAUTHENTICATION_REFUSED, reauthenticate_where_required
from signin.serializers import AuthResponse
from signin.sessions import find_session, session_response, sign_in_by_link, token_response
from throttling.errors import TooManyAttempts

MAX_SIGN_INS = 10  # in an answer
COOKIE_SCHEME = {
    "type": "apiKey",
    "in": "cookie",
    "name": "service_refresh",
    "description": "HttpOnly, `Path=/auth`; set by the calls that sign in.",
}
COOKIE_CREDENTIAL = describe_credential("refreshCookie", COOKIE_SCHEME)


class SignupView(CredentialView):
    """The worker finds out whether the address is registered, so no answer depends on it."""

    @extend_schema(
        operation_id="signUp",
        summary="Ask for a sign-up link",
        description="The answer is the same whether or not the address is registered. If it is "
        "not, a link is mailed to it.",
        request=serializers.EmailSerializer,
        responses={200: serializers.MessageSerializer},
    )
    def post(self, request: Request) -> Response:
        email = self.validated_body(serializers.NewEmailSerializer)["email"]
        OutgoingMail.objects.request_mail(SignupLink, email, get_language_from_request(request))
        return Response({"message": "If the address is available, a sign-up link is on its way."})


class LoginView(CredentialView):
    """With e-mail address and password, and a second factor if the user has one."""

    @extend_schema(
        operation_id="logIn",
        summary="Sign in",
        request=serializers.LoginSerializer,
        responses={200: AuthResponse, 401: Raises(WrongCredentials, *FACTOR_ERRORS)},
        parameters=[serializers.SETS_REFRESH_COOKIE],
    )
    def post(self, request: Request) -> Response:
        body = self.validated_body(serializers.LoginSerializer)
        user, method = check_credentials(request, **body)
        record_sign_in(request, user, method)
        return session_response(request, user, method)


class CompleteSignupView(CredentialView):
    @extend_schema(
        summary="Complete a sign-up",
        description="Creates the company and its admin, uses up the token, and signs the admin in. "
        "`/auth/register` and `/auth/complete-signup` are the same call.",
        request=serializers.CompleteSignupSerializer,
        responses={
            200: AuthResponse,
            400: Raises(InvalidLink),
            409: Raises(EmailTaken, SignInAtProvider),
        },
        parameters=[serializers.SETS_REFRESH_COOKIE],
    )
    def post(self, request: Request) -> Response:
        body = self.validated_body(serializers.CompleteSignupSerializer)
        return sign_in_by_link(request, SignupLink.objects, **body)


class SessionView(CountedView):
    """Base of the calls after whose 401 the browser's session is over: it also clears the refresh
    cookie that the request has, which scripts can't do. Signing out everywhere is none of them, as
    a client refreshes after the 401 and tries again."""

    def handle_exception(self, exc: Exception) -> Response:
        """The answer to an error, which after a 401 clears the refresh cookie."""
        response = super().handle_exception(exc)
        if response.status_code == 401 and tokens.REFRESH_COOKIE in self.request.COOKIES:
            clear_refresh_cookie(self.request, response)
        return response


class RefreshView(SessionView, CredentialView):
    """A refresh token may be used any number of times while it is valid, since several tabs of a
    browser may refresh at the same moment."""

    @extend_schema(
        operation_id="refresh",
        summary="Refresh the tokens",
        description="The cookie takes precedence over `refresh_token` in the body. A refresh by "
        "cookie renews the cookie; a 401 clears it.",
        auth=[{COOKIE_CREDENTIAL: []}, {}],  # type: ignore[list-item]
        request=serializers.RefreshSerializer,
        responses={200: AuthResponse, 401: Raises(InvalidRefreshToken)},
        parameters=[sets_cookie("`service_refresh`, when the token came from it.", 200, 401)],
    )
    def post(self, request: Request) -> Response:
        cookie = request.COOKIES.get(tokens.REFRESH_COOKIE)
        body = {} if cookie else self.validated_body(serializers.RefreshSerializer)
        user, claims = find_session(request, cookie or body.get("refresh_token", ""))
        return token_response(user, claims["amr"], claims["auth_time"], cookie=bool(cookie))


class UnlockView(CredentialView):
    @extend_schema(
        operation_id="redeemUnlock",
        summary="Unlock an address by link",
        description="Uses up the token and ends the lockout of unknown devices, without signing "
        "in. With DEVICE_LOCKOUT, this browser becomes a known device.",
        request=serializers.TokenSerializer,
        responses={204: None, 400: Raises(InvalidLink)},
        parameters=[sets_cookie("`service_device`: this browser is known from now on.", 204)],
    )
    def post(self, request: Request) -> Response:
        token = self.validated_body(serializers.TokenSerializer)["token"]
        with transaction.atomic():
            user = UnlockLink.objects.find_by_token(token).redeem()
        response = Response(status=204)
        if settings.DEVICE_LOCKOUT:
            remember_device(request, response, user)
        return response


@extend_schema_view(
    get=extend_schema(operation_id="listDevices", summary="List the caller's known devices")
)
class ListDevicesView(ProtectedView, ListAPIView):
    """Most recently used first. Devices are remembered only with DEVICE_LOCKOUT."""

    serializer_class = serializers.DeviceSerializer

    def get_queryset(self) -> QuerySet[Device]:
        return Device.objects.live().filter(user=self.request.user)


class ForgetDeviceView(ProtectedView):
    @extend_schema(
        operation_id="forgetDevice",
        summary="Remove a known device",
        description="From now on it counts as an unknown device. Its session goes on.",
        responses={204: None},
    )
    def delete(self, request: SignedInRequest, device_id: UUID) -> Response:
        devices = Device.objects.live().select_related("user")
        get_object_or_404(devices, pk=device_id, user=request.user).forget()
        return Response(status=204)


class SignInsView(ProtectedView):
    """The caller's newest sign-ins, and whether those with a new browser are mailed."""

    @extend_schema(
        operation_id="listSignIns",
        summary="List the caller's recent sign-ins",
        description="From the audit log, the newest first.",
        responses={200: serializers.SignInsResponse},
    )
    def get(self, request: SignedInRequest) -> Response:
        events = AuditEvent.objects.sign_ins_of(request.user.pk)[:MAX_SIGN_INS]
        body = {"items": events, "mails": request.user.sign_in_mails}
        return Response(serializers.SignInsResponse(body).data)

    @extend_schema(
        operation_id="updateSignInMails",
        summary="Switch the mails about new browsers on or off",
        request=serializers.SignInMailsSerializer,
        responses={200: serializers.SignInsResponse},
    )
    def patch(self, request: SignedInRequest) -> Response:
        mails = self.validated_body(serializers.SignInMailsSerializer)["mails"]
        request.user.change_profile(request.user, sign_in_mails=mails)
        return self.get(request)


def signed_out_response(request: SignedInRequest) -> Response:
    """An empty answer (204) that clears the refresh cookie. It ends no session."""
    response = Response(status=204)
    clear_refresh_cookie(request, response)
    return response


class LogoutView(SessionView, ProtectedView):
    """Clears the refresh cookie, also with a 401. The access token stays valid until it expires."""

    @extend_schema(
        operation_id="logOut",
        summary="Sign out",
        request=None,
        responses={204: None},
        parameters=[serializers.CLEARS_REFRESH_COOKIE],
    )
    def post(self, request: SignedInRequest) -> Response:
        return signed_out_response(request)


class LogoutEverywhereView(ProtectedView):
    """Every access and refresh token issued so far stops working."""

    @extend_schema(
        operation_id="logOutEverywhere",
        summary="Sign out everywhere",
        request=None,
        responses={204: None},
        parameters=[serializers.CLEARS_REFRESH_COOKIE],
    )
    def post(self, request: SignedInRequest) -> Response:
        request.user.sign_out(request.user)
        return signed_out_response(request)


class UserChangesSerializer(RoleOrActiveSerializer, ProofSerializer):
    """All fields are optional; the proof is for one's own `keeps_password` alone."""


class UserView(ProtectedView):
    """A user of the caller's company; 404 for any other."""

    permission_classes = [IsAdmin]
    key_scopes = {"GET": Scope.USERS_READ}

    @extend_schema(operation_id="getUser", summary="Get a user", responses={200: CompanyUser})
    def get(self, request: SignedInRequest, user_id: UUID) -> Response:
        return Response(CompanyUser(get_colleague_or_404(request, user_id)).data)

    @extend_schema(
        operation_id="updateUser",
        summary="Change a user's role, or deactivate or reactivate a user",
        description="An inactive user's tokens stop working. The last active admin stays (409), "
        "and the last one with `keeps_password` where the company requires its provider: there, to "
        "set one's own `keeps_password` needs re-authentication, a password and a second factor "
        "(409). Open invitations of a former or deactivated admin are revoked, and listed in the "
        "answer.",
        request=UserChangesSerializer,
        responses={
            200: ChangedUser,
            403: REAUTHENTICATION_REFUSED,
            409: Raises(LastAdmin, LastBreakGlassAdmin, CannotKeepPassword),
            429: Raises(TooManyAttempts),
        },
    )
    def patch(self, request: SignedInRequest, user_id: UUID) -> Response:
        changes = self.validated_body(RoleOrActiveSerializer)
        if changes.get("keeps_password") and user_id == request.user.pk:
            reauthenticate_where_required(request)
        user = get_colleague_or_404(request, user_id)
        _, revoked = user.update_role_or_active(request.user, **changes)
        context = {"changes": changes, "revoked_invitations": revoked}
        return Response(ChangedUser(user, context=context).data)
