"""How a company stands, in figures: for the people page of its admins."""

from datetime import timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone
from rest_framework.response import Response

from accounts.generics import AdminView, SignedInRequest
from accounts.models import Role, User
from invitations.models import Invitation, Status

LONG_AGO = timedelta(days=90)


class OverviewView(AdminView):
    """GET /pages/overview -> {people, admins, without_factor, absent, never, invitations}: how many
    are active; of those admins, without a second factor, last signed in 90 days ago or before,
    never signed in; and how many invitations are open. Three statements."""

    schema = None
    http_method_names = ["get", "head"]

    def get(self, request: SignedInRequest) -> Response:
        company = request.user.account_id
        active = User.objects.filter(account=company, is_active=True)
        figures: dict[str, Any] = active.aggregate(
            people=Count("pk"),
            admins=Count("pk", filter=Q(role=Role.ADMIN)),
            without_factor=Count("pk", filter=Q(has_second_factor=False)),
        )
        absent = active.not_signed_in_since(timezone.now() - LONG_AGO)
        figures |= absent.aggregate(absent=Count("last_sign_in_at"), never=Count("pk"))
        figures["never"] -= figures["absent"]
        sent = Invitation.objects.in_status(Status.PENDING)
        figures["invitations"] = sent.filter(account=company).count()
        return Response(figures)
