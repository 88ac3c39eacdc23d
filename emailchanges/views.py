"""The calls that change the caller's e-mail address, or undo such a change."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.errors import EmailFromProvider, EmailTaken
from api.fields import EmailField
from api.openapi import Raises, example
from api.views import CredentialView, ProtectedView, SignedInRequest
from base.emails import new_email
from emailchanges.models import EmailChange, UndoEmailChange
from mail.errors import InvalidLink, LinkOfAnotherUser, NoChangeWaiting
from signin.factors.serializers import ProofSerializer
from signin.reauthentication import REAUTHENTICATION_REFUSED, reauthenticate
from signin.serializers import ADA, MessageSerializer, TokenSerializer
from throttling.throttles import CredentialThrottle

LINK_ON_ITS_WAY = "If the address can be used, a link is on its way to it."


@example({"email": "ada@example.net", "password": ADA["password"]})
class EmailChangeSerializer(ProofSerializer):
    email = EmailField(new_email)


class EmailChangesView(ProtectedView):
    """The worker finds out whether the address is taken, so the answer does not depend on it."""

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
        return Response({"message": LINK_ON_ITS_WAY})


@example({"email": "ada@example.net", "requested_at": "2026-03-03T07:10:30.120000Z"})
class WaitingEmailChangeResponse(serializers.Serializer):
    """The address that waits to be confirmed; nulls without one."""

    email = serializers.EmailField(allow_null=True)
    requested_at = serializers.DateTimeField(allow_null=True)


class WaitingEmailChangeView(ProtectedView):
    """The caller's newest request that may still be confirmed, whether or not the address is taken.
    It waits as long as a link works that is mailed at once."""

    @extend_schema(
        operation_id="getEmailChange",
        summary="Get the new address that waits to be confirmed",
        responses={200: WaitingEmailChangeResponse},
    )
    def get(self, request: SignedInRequest) -> Response:
        event = EmailChange.waiting_request(request.user)
        email, requested_at = (event.detail["new"], event.at) if event else (None, None)
        body = {"email": email, "requested_at": requested_at}
        return Response(WaitingEmailChangeResponse(body).data)

    @extend_schema(
        operation_id="resendEmailChange",
        summary="Ask for the link to the waiting address again",
        description="The answer is the same whether or not the address is taken.",
        request=None,
        responses={
            200: MessageSerializer,
            404: Raises(NoChangeWaiting),
            409: Raises(EmailFromProvider),
        },
    )
    def post(self, request: SignedInRequest) -> Response:
        event = EmailChange.waiting_request(request.user)
        if event is None:
            raise NoChangeWaiting
        EmailChange.request_link(request.user, event.detail["new"])
        return Response({"message": LINK_ON_ITS_WAY})

    @extend_schema(
        operation_id="cancelEmailChange",
        summary="Cancel the change to the waiting address",
        description="Mailed links to it stop working.",
        responses={204: None},
    )
    def delete(self, request: SignedInRequest) -> Response:
        EmailChange.cancel_request(request.user)
        return Response(status=204)


class RedeemEmailChangeView(ProtectedView):
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
