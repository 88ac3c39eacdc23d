"""The /password-changes calls."""

from uuid import UUID

from django.utils.translation import get_language_from_request
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.generics import AdminView, CredentialView, Data, SignedInRequest, validated_body
from accounts.models import User
from audit.models import Kind
from base.openapi import Raises
from mail.errors import InvalidLink
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from passwords.serializers import RedeemSerializer
from signin.errors import FACTOR_ERRORS
from signin.generics import LinkSignInView
from signin.serializers import COOKIE, AuthResponse, EmailSerializer, Message


class PasswordChangesView(CredentialView):
    """POST /password-changes: queue a link. The worker finds out whether the address has a
    user, so the answer does not depend on it."""

    @extend_schema(
        operation_id="requestPasswordChange",
        summary="Ask for a password-change link",
        description="The answer is the same whether or not the address is registered. If it is, a "
        "link is mailed to it, and replaces an older one.",
        request=EmailSerializer,
        responses={200: Message},
    )
    def post(self, request: Request) -> Response:
        email = validated_body(EmailSerializer, request)["email"]
        language = get_language_from_request(request)
        OutgoingMail.objects.request_mail(PasswordChange, email, language)
        message = "If the address has a user, a link is on its way."
        return Response(Message({"message": message}).data)


class SendPasswordLinkView(AdminView):
    """POST /users/{id}/password-change: mail a user of the company a link."""

    @extend_schema(
        operation_id="mailPasswordChange",
        summary="Mail a user a password-change link",
        description="The same mail that the user could ask for. Mails over the hourly limit are "
        "dropped, and inactive users get none. The password stays valid until the link is used.",
        request=None,
        responses={204: None},
    )
    def post(self, request: SignedInRequest, user_id: UUID) -> Response:
        PasswordChange.objects.request_for(self.get_colleague_or_404(user_id), request.user)
        return Response(status=204)


class RedeemView(LinkSignInView):
    """POST /password-changes/redeem: set the new password, end every session, sign in."""

    link_class = PasswordChange
    serializer_class = RedeemSerializer
    kind = Kind.PASSWORD_CHANGED

    @extend_schema(
        operation_id="redeemPasswordChange",
        summary="Set a new password by link",
        description="Uses up the token, ends the user's earlier sessions, and signs the user in.",
        request=RedeemSerializer,
        responses={200: AuthResponse, 400: Raises(InvalidLink), 401: Raises(*FACTOR_ERRORS)},
        parameters=[COOKIE],
    )
    def post(self, request: Request) -> Response:
        return self.sign_in_by_link(request)

    def person(self, link: PasswordChange, data: Data) -> User:
        return link.user

    def redeem(self, link: PasswordChange, data: Data) -> User:
        return link.redeem(data["password"])
