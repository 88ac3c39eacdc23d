"""The /invitations calls."""

from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.backends import clear_lockout, refuse_locked
from accounts.generics import AdminView, CredentialView, SignedInRequest, valid, valid_query
from audit import trail
from audit.models import Kind
from invitations.models import Invitation
from invitations.serializers import (
    AcceptSerializer,
    InvitationFilterSerializer,
    InviteSerializer,
    invitation_response,
)


class InvitationsView(AdminView):
    """POST and GET /invitations: invite somebody; the company's invitations, newest first."""

    def post(self, request: SignedInRequest) -> Response:
        data = valid(InviteSerializer, request)
        with transaction.atomic():
            invitation = Invitation.objects.invite(request.user, **data)
            invitation.record(Kind.INVITATION_CREATED, request.user)
        return Response(invitation_response(invitation), 201)

    def get(self, request: SignedInRequest) -> Response:
        wanted = valid_query(InvitationFilterSerializer, request)
        invitations = Invitation.objects.filter(account=request.user.account_id)
        if "status" in wanted:
            invitations = invitations.in_status(wanted["status"])
        return self.page(invitations, invitation_response)


class InvitationView(AdminView):
    """DELETE /invitations/{id}: revoke it."""

    def delete(self, request: SignedInRequest, invitation_id: UUID) -> Response:
        invitation = self.invitation(request, invitation_id)
        with transaction.atomic():
            invitation.revoke()
            invitation.record(Kind.INVITATION_REVOKED, request.user)
        return Response(status=204)

    def invitation(self, request: SignedInRequest, invitation_id: UUID) -> Invitation:
        return get_object_or_404(Invitation, pk=invitation_id, account=request.user.account_id)


class ResendView(InvitationView):
    """POST /invitations/{id}/resend: a new link and a new expiry; the old link dies."""

    http_method_names = ["post"]

    def post(self, request: SignedInRequest, invitation_id: UUID) -> Response:
        invitation = self.invitation(request, invitation_id)
        with transaction.atomic():
            if invitation.resend():
                invitation.record(Kind.INVITATION_RESENT, request.user)
        return Response(invitation_response(invitation))


class AcceptView(CredentialView):
    """POST /invitations/accept: become a user of the company, and be signed in."""

    def post(self, request: Request) -> Response:
        data = valid(AcceptSerializer, request)
        invitation = Invitation.objects.find(data.pop("token"))
        refuse_locked(invitation.email)
        data["password"] = make_password(data["password"])  # takes a while: no transaction yet
        with transaction.atomic():
            user = invitation.accept(**data)
            clear_lockout(invitation.email)
            trail.record(Kind.INVITATION_ACCEPTED, actor=user, role=user.role)
        return self.signed_in(user)
