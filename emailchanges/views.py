"""The calls that change the caller's e-mail address, or undo such a change."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.errors import EmailFromProvider, EmailTaken
from api.fields import EmailField
from api.openapi import Raises, example
from api.views import CredentialView, ProtectedView, SignedInRequest
from base.emails import new_email
from emailchanges.models import EmailChange, UndoEmailChange
from mail.errors import InvalidLink, LinkOfAnotherUser
from signin.factors.serializers import ProofSerializer
from signin.reauthentication import REAUTHENTICATION_REFUSED, reauthenticate
from signin.serializers import ADA, MessageSerializer, TokenSerializer
from throttling.throttles import CredentialThrottle


@example({"email": "ada@example.net", "password": ADA["password"]})
class EmailChangeSerializer(ProofSerializer):
    email = EmailField(new_email)


class EmailChangesView(ProtectedView):
    """POST /auth/email-changes: request a link to the new address. The worker finds out whether it
    is taken, so the answer does not depend on it."""

    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="requestEmailChange",
        summary="Ask for a new e-mail address",
        description="Mails a link to the new address, unless it is taken, and a notice to the "
        "current one. The answer is always the same. The address changes when the link is used.",
        request=EmailChangeSerializer,
        responses={
            200: MessageSerializer,
            403: REAUTHENTICATION_REFUSED,
            409: Raises(EmailFromProvider),
        },
    )
    def post(self, request: SignedInRequest) -> Response:
        email = reauthenticate(request, EmailChangeSerializer)["email"]
        EmailChange.request_link(request.user, email)
        return Response({"message": "If the address can be used, a link is on its way to it."})


class RedeemEmailChangeView(ProtectedView):
    """POST /email-changes/redeem: change the caller's address by the mailed link."""

    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="redeemEmailChange",
        summary="Confirm a new e-mail address by link",
        description="Only for the user who asked. Uses up the token; sessions go on. The old "
        "address gets a link that undoes the change for seven days.",
        request=TokenSerializer,
        responses={
            204: None,
            400: Raises(InvalidLink),
            403: Raises(LinkOfAnotherUser),
            409: Raises(EmailTaken, EmailFromProvider),
        },
    )
    def post(self, request: SignedInRequest) -> Response:
        link = EmailChange.objects.find_by_token(self.validated_body(TokenSerializer)["token"])
        link.redeem(request.user)
        return Response(status=204)


class UndoEmailChangeView(CredentialView):
    """POST /email-changes/undo: restore the old address, and end the user's sessions."""

    @extend_schema(
        operation_id="undoEmailChange",
        summary="Undo a change of an e-mail address by link",
        description="Uses up the token, restores the address that the link was mailed to, and ends "
        "every session.",
        request=TokenSerializer,
        responses={204: None, 400: Raises(InvalidLink), 409: Raises(EmailFromProvider)},
    )
    def post(self, request: Request) -> Response:
        token = self.validated_body(TokenSerializer)["token"]
        UndoEmailChange.objects.find_by_token(token).redeem()
        return Response(status=204)
