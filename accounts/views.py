"""The calls /auth/me, /account, /users and /users/{user_id}/sign-out."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.generics import ListAPIView
from rest_framework.response import Response

from accounts.errors import OwnSecondFactorMissing
from accounts.models import User, UserQuerySet
from accounts.models.users import ORDERS
from accounts.serializers import (
    USER_SERIALIZER,
    AccountResponse,
    AccountSerializer,
    CompanyUser,
    ProfileSerializer,
    UserFilterSerializer,
    UserResponse,
)
from api.openapi import Raises
from api.views import IsAdmin, ProtectedView, Scope, SignedInRequest


def get_colleague_or_404(request: SignedInRequest, user_id: UUID) -> User:
    """The user with this id, `with_profile`, of `users_seen_by` the caller. Raises Http404."""
    return get_object_or_404(users_seen_by(request.user).with_profile(), pk=user_id)


def users_seen_by(caller: User) -> UserQuerySet:
    """The users of the caller's company; of all companies for an operators' API key, which has
    none."""
    is_operators_key = not isinstance(caller, User) and caller.account_id is None
    users = User.objects.all()
    return users if is_operators_key else users.filter(account=caller.account_id)


class MeView(ProtectedView):
    """The caller's own user. Send only the fields that change."""

    @extend_schema(operation_id="getMe", summary="Get the caller", responses={200: UserResponse})
    def get(self, request: SignedInRequest) -> Response:
        return Response(USER_SERIALIZER.to_representation(request.user))

    @extend_schema(
        operation_id="updateMe",
        summary="Change the caller's name or language",
        request=ProfileSerializer,
        responses={200: UserResponse},
    )
    def patch(self, request: SignedInRequest) -> Response:
        changes = self.validated_body(ProfileSerializer)
        changes |= changes.pop("settings", {})
        request.user.change_profile(request.user, **changes)
        return Response(USER_SERIALIZER.to_representation(request.user))


class CompanyView(ProtectedView):
    """The caller's company. All its users may read it; admins may change it."""

    key_scopes = {"GET": Scope.USERS_READ}

    def get_permissions(self) -> list[Any]:
        return [IsAdmin()] if self.request.method == "PATCH" else list(super().get_permissions())

    @extend_schema(
        operation_id="getAccount", summary="Get the company", responses={200: AccountResponse}
    )
    def get(self, request: SignedInRequest) -> Response:
        if request.user.account is None:  # an operators' key
            raise Http404
        return Response(AccountResponse(request.user.account).data)

    @extend_schema(
        operation_id="updateAccount",
        summary="Change the company",
        description="Send the fields to change. Requiring a second factor signs out the users "
        "without one, connected apps included, except those who must sign in at the company's "
        "provider. They set one up at their next sign-in.",
        request=AccountSerializer,
        responses={200: AccountResponse, 409: Raises(OwnSecondFactorMissing)},
    )
    def patch(self, request: SignedInRequest) -> Response:
        changes = self.validated_body(AccountSerializer)
        account, policy = request.user.account, changes.pop("second_factor", None)
        with transaction.atomic():
            account.change(request.user, **changes)
            if policy:
                account.change_second_factor(request.user, policy)
        return Response(AccountResponse(account).data)


@extend_schema_view(
    get=extend_schema(
        operation_id="listUsers",
        summary="List the company's users",
        parameters=[UserFilterSerializer],
    )
)
class UsersView(ProtectedView, ListAPIView):
    """Sorted by last and first name without `sort`. `search` matches names and e-mail addresses,
    whatever their case and accents, and letters as people type them: Lukasz for Łukasz."""

    permission_classes = [IsAdmin]
    key_scopes = {"GET": Scope.USERS_READ}
    serializer_class = CompanyUser

    def get_queryset(self) -> UserQuerySet:
        filters = self.validated_query(UserFilterSerializer)
        users = users_seen_by(self.request.user)
        if moment := filters.pop("not_signed_in_since", None):
            users = users.filter(Q(last_sign_in_at=None) | Q(last_sign_in_at__lt=moment))
        if (signed_in := filters.pop("signed_in", None)) is not None:
            users = users.filter(last_sign_in_at__isnull=not signed_in)
        text, order = filters.pop("search", ""), filters.pop("sort", "name")
        return users.search(text).filter(**filters).order_by(*ORDERS[order])

    def paginate_queryset(self, queryset: QuerySet) -> list[Any]:
        """The page's users, `with_profile`. In one query, the database would join all rows with
        profiles before the page."""
        page: Any = super().paginate_queryset(queryset)
        users = User.objects.with_profile().filter(pk__in=page.values("pk"))
        order = self.validated_query(UserFilterSerializer).get("sort", "name")
        return list(users.order_by(*ORDERS[order]))


class SignOutView(ProtectedView):
    """Every session and connected app of the user ends at once. The user can sign in again."""

    permission_classes = [IsAdmin]

    @extend_schema(
        operation_id="signOutUser",
        summary="End a user's sessions",
        request=None,
        responses={204: None},
    )
    def post(self, request: SignedInRequest, user_id: UUID) -> Response:
        get_colleague_or_404(request, user_id).sign_out(actor=request.user)
        return Response(status=204)
