"""The /password-changes calls."""

from django.db import transaction
from django.utils.translation import get_language_from_request
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.backends import clear_lockout, hash_password
from accounts.devices import STRANGER, Devices
from accounts.exceptions import InvalidLink
from accounts.generics import CredentialView, valid
from accounts.mail.outbox import OutgoingMail
from accounts.openapi import COOKIE, Raises
from accounts.serializers import AuthResponse, EmailSerializer, Message
from audit import trail
from audit.models import Kind
from passwords.models import PasswordChange
from passwords.serializers import RedeemSerializer


class PasswordChangesView(CredentialView):
    """POST /password-changes: record that a link is wanted. Whether the address has a user is found
    out by the mail worker, so that nothing here depends on it."""

    @extend_schema(
        operation_id="requestPasswordChange",
        summary="Ask for a password-change link",
        description="The answer is the same whether or not the address has a user; if it has one, "
        "a link is mailed to it. A newer link replaces the older one.",
        request=EmailSerializer,
        responses={200: Message},
    )
    def post(self, request: Request) -> Response:
        email = valid(EmailSerializer, request)["email"]
        language = get_language_from_request(request)
        OutgoingMail.objects.request(PasswordChange, email, language)
        said = "If the address has a user, a link is on its way."
        return Response(Message({"message": said}).data)


class RedeemView(CredentialView):
    """POST /password-changes/redeem: set the new password, end every session, sign in."""

    @extend_schema(
        operation_id="redeemPasswordChange",
        summary="Set a new password by link",
        description="Uses the token up, ends every earlier session of the user, and signs in.",
        request=RedeemSerializer,
        responses={200: AuthResponse, 400: Raises(InvalidLink)},
        parameters=[COOKIE],
    )
    def post(self, request: Request) -> Response:
        data = valid(RedeemSerializer, request)
        link = PasswordChange.objects.find(data["token"])
        devices = Devices(request)
        device = devices.device_of(link.user) if devices else STRANGER
        password = hash_password(request, link.email, data["password"], device)
        with transaction.atomic():
            user = link.redeem(password)
            clear_lockout(link.email, device)
            trail.record(Kind.PASSWORD_CHANGED, actor=user)
        return self.signed_in(user)
