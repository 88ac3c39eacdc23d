"""What the account page and the people page need to know beside the API's answers."""

from datetime import timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone
from rest_framework.response import Response

from accounts.models import Role, User
from api.views import IsAdmin, ProtectedView, SignedInRequest
from invitations.models import Invitation, Status
from sso.models import Identity

ABSENT_AFTER = timedelta(days=90)  # without a sign-in; the page calls such users inactive


class AccountPageView(ProtectedView):
    """GET /pages/account -> {must_use_provider, has_password}.

    `must_use_provider`: the company requires its provider, or the user has no password and is
    linked to the active provider."""

    schema = None

    def get(self, request: SignedInRequest) -> Response:
        user, is_required = request.user, request.user.must_use_provider
        has_password = user.has_usable_password()
        if not is_required and not has_password:
            is_required = Identity.objects.filter(user=user, provider__active=True).exists()
        return Response({"must_use_provider": is_required, "has_password": has_password})


class OverviewView(ProtectedView):
    """GET /pages/overview, for admins."""

    permission_classes = [IsAdmin]
    schema = None

    def get(self, request: SignedInRequest) -> Response:
        """Answer with the numbers of the company's active users (`people`); among these, of the
        `admins`, of users `without_factor`, of `absent` ones, who last signed in over ABSENT_AFTER
        ago, and of those who `never` did; and of its pending `invitations`. `has_tested_provider`:
        an admin may then keep a password."""
        company_id = request.user.account_id
        active_users = User.objects.filter(account=company_id, is_active=True)
        figures: dict[str, Any] = active_users.aggregate(
            people=Count("pk"),
            admins=Count("pk", filter=Q(role=Role.ADMIN)),
            without_factor=Count("pk", filter=Q(has_second_factor=False)),
            absent=Count("pk", filter=Q(last_sign_in_at__lt=timezone.now() - ABSENT_AFTER)),
            never=Count("pk", filter=Q(last_sign_in_at=None)),
            has_tested_provider=Count("account__identity_provider__tested_at"),
        )
        figures["has_tested_provider"] = figures["has_tested_provider"] > 0
        invitations = Invitation.objects.in_status(Status.PENDING)
        figures["invitations"] = invitations.filter(account=company_id).count()
        return Response(figures)
