"""The calls that set a password: signed in, or by a mailed link."""

from typing import cast
from uuid import UUID

from django.conf import settings
from django.utils.translation import get_language_from_request
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.errors import SignInAtProvider
from accounts.fields import NewPasswordField
from accounts.tokens import AccessToken
from accounts.views import get_colleague_or_404
from api.fields import TextField
from api.openapi import Raises, example
from api.views import CredentialView, IsAdmin, ProtectedView, SignedInRequest
from mail.errors import InvalidLink
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.credentials import hash_new_password
from signin.devices import remember_device
from signin.errors import FACTOR_ERRORS
from signin.factors.serializers import FactorFields, ProofSerializer
from signin.hashers import hash_slot
from signin.reauthentication import REAUTHENTICATION_REFUSED, reauthenticate
from signin.serializers import (
    ADA,
    EXAMPLE_LINK_TOKEN,
    SETS_REFRESH_COOKIE,
    AuthResponse,
    EmailSerializer,
    MessageSerializer,
)
from signin.sessions import require_sign_in_here, sign_in_by_link, token_response
from throttling.errors import TooManyAttempts
from throttling.throttles import CredentialThrottle


@example({"password": ADA["password"], "new_password": "staple battery horse"})
class ChangePasswordSerializer(ProofSerializer):
    new_password = NewPasswordField()


class ChangePasswordView(ProtectedView):
    """A new password for the caller, whose session goes on with new tokens."""

    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="changePassword",
        summary="Change the caller's password",
        description="Needs re-authentication. Ends the user's other sessions, connected apps and "
        "password-change links.",
        request=ChangePasswordSerializer,
        responses={
            200: AuthResponse,
            403: REAUTHENTICATION_REFUSED,
            409: Raises(SignInAtProvider),
            429: Raises(TooManyAttempts),
        },
        parameters=[SETS_REFRESH_COOKIE],
    )
    def post(self, request: SignedInRequest) -> Response:
        user, claims = request.user, cast(AccessToken, request.auth)
        require_sign_in_here(user)
        new_password = self.validated_body(ChangePasswordSerializer)["new_password"]
        with hash_slot():  # before the re-authentication: a weak password uses no code up
            encoded = hash_new_password(user, new_password, "new_password")
        reauthenticate(request, ChangePasswordSerializer)
        PasswordChange.objects.replace_password(user, encoded)
        response = token_response(user, claims["amr"], claims["auth_time"])
        if settings.DEVICE_LOCKOUT:
            remember_device(request, response, user)
        return response


class PasswordChangesView(CredentialView):
    """The worker looks the address up, so the answer does not depend on whether it has a user."""

    @extend_schema(
        operation_id="requestPasswordChange",
        summary="Ask for a password-change link",
        description="The answer is the same whether or not the address is registered. If it is, a "
        "link is mailed to it, and replaces an older one.",
        request=EmailSerializer,
        responses={200: MessageSerializer},
    )
    def post(self, request: Request) -> Response:
        email = self.validated_body(EmailSerializer)["email"]
        OutgoingMail.objects.request_mail(PasswordChange, email, get_language_from_request(request))
        return Response({"message": "If the address has a user, a link is on its way."})


class SendPasswordLinkView(ProtectedView):
    permission_classes = [IsAdmin]

    @extend_schema(
        operation_id="mailPasswordChange",
        summary="Mail a user a password-change link",
        description="The same mail that the user could ask for. Mails over the hourly limit are "
        "dropped, and inactive users get none. The password stays valid until the link is used.",
        request=None,
        responses={204: None},
    )
    def post(self, request: SignedInRequest, user_id: UUID) -> Response:
        PasswordChange.objects.request_for(get_colleague_or_404(request, user_id), request.user)
        return Response(status=204)


@example({"token": EXAMPLE_LINK_TOKEN, "password": ADA["password"]})
class RedeemSerializer(FactorFields):
    token = TextField(max_length=512)
    password = NewPasswordField()


class RedeemPasswordChangeView(CredentialView):
    """Uses up the token, ends the user's earlier sessions, and signs the user in."""

    @extend_schema(
        operation_id="redeemPasswordChange",
        summary="Set a new password by link",
        request=RedeemSerializer,
        responses={200: AuthResponse, 400: Raises(InvalidLink), 401: Raises(*FACTOR_ERRORS)},
        parameters=[SETS_REFRESH_COOKIE],
    )
    def post(self, request: Request) -> Response:
        body = self.validated_body(RedeemSerializer)
        return sign_in_by_link(request, PasswordChange.objects, **body)
