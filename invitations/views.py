"""The /invitations calls."""

import re
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import get_language_from_request
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.exceptions import APIException
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.errors import EmailTaken, SignInAtProvider
from api.openapi import Raises
from api.views import CredentialView, IsAdmin, ProtectedView, Scope, SignedInRequest
from base.emails import MAX_EMAIL_LENGTH, search_words
from base.text import printable_text
from invitations.errors import SENDING_ERRORS, InvitationClosed
from invitations.models import Invitation
from invitations.serializers import (
    AcceptSerializer,
    InvitationFilterSerializer,
    InvitationSerializer,
    InvitedSerializer,
    InviteSerializer,
    InviteSeveralSerializer,
)
from mail.errors import InvalidLink
from signin.errors import FactorMustBeSetUp
from signin.serializers import SETS_REFRESH_COOKIE, AuthResponse
from signin.sessions import sign_in_by_link


class InvitationsView(ProtectedView, ListAPIView):
    """POST and GET /invitations: invite a user; list the company's invitations, newest first."""

    permission_classes = [IsAdmin]
    key_scopes = dict.fromkeys(["GET", "POST"], Scope.INVITATIONS_WRITE)
    serializer_class = InvitationSerializer

    @extend_schema(
        operation_id="invite",
        summary="Invite people",
        description="Mails a link. Users of other companies are not revealed: accepting fails. To "
        "invite up to 50 people, send a list of such bodies as `invitations`. Each counts as a "
        "request, and the answer is 200, with `items` in the same order.",
        request=PolymorphicProxySerializer(
            "InviteOneOrSeveral", [InviteSerializer, InviteSeveralSerializer], None
        ),
        responses={200: InvitedSerializer, 201: InvitationSerializer, 409: Raises(*SENDING_ERRORS)},
    )
    def post(self, request: SignedInRequest) -> Response:
        if "invitations" in request.data:
            bodies = self.validated_body(InviteSeveralSerializer)["invitations"]
            items = [self.invite_item(request, b, is_first=n == 0) for n, b in enumerate(bodies)]
            return Response({"items": items})
        return Response(self.invite_one(request, request.data), 201)

    def invite_one(self, request: SignedInRequest, body: dict[str, Any]) -> dict[str, object]:
        """Invite by one unvalidated body; returns the invitation as admins see it. Raises
        ValidationError for an invalid body, and the errors of `Invitation.send`."""
        values = InviteSerializer().run_validation(body)
        invitation = Invitation.objects.invite(request.user, **values)
        return dict(InvitationSerializer(invitation).data)

    def invite_item(
        self, request: SignedInRequest, body: dict[str, Any], *, is_first: bool
    ) -> dict[str, object]:
        """Invite by `body`, an unvalidated item of a list. Each item but the first counts as one
        more request. Returns the invitation as admins see it, or the printable beginning of the
        address as sent, and the members of the error's answer."""
        try:
            if not is_first:
                self.count_one_more(request)
            return self.invite_one(request, body)
        except (APIException, PermissionDenied) as error:
            email = printable_text(str(body.get("email", "")), MAX_EMAIL_LENGTH)
            return {"email": email, **self.handle_exception(error).data}

    @extend_schema(
        operation_id="listInvitations",
        summary="List the company's invitations",
        description="Newest first. `search` matches e-mail addresses.",
        parameters=[InvitationFilterSerializer],
    )
    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        return self.list(request)

    def get_queryset(self) -> QuerySet[Invitation]:
        """The invitations of the caller's company that match the query, in its order. Raises
        ValidationError for an invalid query."""
        query = self.validated_query(InvitationFilterSerializer)
        invitations = Invitation.objects.filter(account=self.request.user.account_id)
        for word in search_words(query.get("search", "")):
            invitations = invitations.filter(email__icontains=word)
        if "status" in query:
            invitations = invitations.in_status(query["status"])
        if "role" in query:
            invitations = invitations.filter(role=query["role"])
        return invitations.with_mail().order_by(query.get("sort", "-created_at"), "id")


def get_invitation_or_404(request: SignedInRequest, invitation_id: UUID) -> Invitation:
    """The invitation with this id, with its company loaded. Raises Http404 unless it belongs to the
    caller's company."""
    invitations: QuerySet[Invitation] = Invitation.objects.filter(account=request.user.account_id)
    return get_object_or_404(invitations.select_related("account"), pk=invitation_id)


class InvitationView(ProtectedView):
    """The mailed link stops working. 409 if the invitation was accepted or already revoked."""

    permission_classes = [IsAdmin]
    key_scopes = {"DELETE": Scope.INVITATIONS_WRITE}

    @extend_schema(
        operation_id="revokeInvitation",
        summary="Revoke an invitation",
        responses={204: None, 409: Raises(InvitationClosed)},
    )
    def delete(self, request: SignedInRequest, invitation_id: UUID) -> Response:
        get_invitation_or_404(request, invitation_id).revoke(request.user)
        return Response(status=204)


class ResendInvitationView(ProtectedView):
    """Mails a new link with a new expiry. The old link stops working."""

    permission_classes = [IsAdmin]
    key_scopes = {"POST": Scope.INVITATIONS_WRITE}

    @extend_schema(
        operation_id="resendInvitation",
        summary="Send an invitation again",
        request=None,
        responses={200: InvitationSerializer, 409: Raises(InvitationClosed, *SENDING_ERRORS)},
    )
    def post(self, request: SignedInRequest, invitation_id: UUID) -> Response:
        invitation = get_invitation_or_404(request, invitation_id)
        invitation.resend(request.user)
        return Response(InvitationSerializer(invitation).data)


class AcceptInvitationView(CredentialView):
    """Creates the user, uses up the token, and signs the user in."""

    @extend_schema(
        operation_id="acceptInvitation",
        summary="Accept an invitation",
        request=AcceptSerializer,
        responses={
            200: AuthResponse,
            400: Raises(InvalidLink),
            401: Raises(FactorMustBeSetUp),
            409: Raises(EmailTaken, SignInAtProvider),
        },
        parameters=[SETS_REFRESH_COOKIE],
    )
    def post(self, request: Request) -> Response:
        body = self.validated_body(AcceptSerializer)
        body.setdefault("language", language_of_browser(request))
        return sign_in_by_link(request, Invitation.objects, **body)


def language_of_browser(request: Request) -> str | None:
    """The language that the browser asks for, by cookie or Accept-Language; None if it asks for
    none of settings.LANGUAGES."""
    language = get_language_from_request(request)  # the default if the browser asks for none
    cookie = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    preferences = f"{cookie},{request.headers.get('Accept-Language', '')}"
    return language if re.search(rf"\b{language}\b", preferences, re.IGNORECASE) else None
