"""Companies, people, and what is mailed to them, in the admin site."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from accounts.exceptions import LastAdmin
from accounts.mail.outbox import OutgoingMail, State
from accounts.models import Account, Consultant, SignupLink, User
from audit import trail
from audit.admin import AuditedAdmin, BoundedPaginator
from audit.models import Kind


class LargeTableAdmin(AuditedAdmin):
    """A long list: no query per row, and no count of more rows than anybody pages through."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50


class ReadOnlyAdmin(LargeTableAdmin):
    """What the service itself writes: to be looked at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Account)
class AccountAdmin(LargeTableAdmin):
    list_display = ["name", "id", "created_at"]
    search_fields = ["name"]
    readonly_fields = ["id", "created_at"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class UserAdmin(LargeTableAdmin):
    """People come in by sign-up or invitation, and their passwords are their own: to add one is
    to invite. Role and state change by rules, so they are actions rather than fields.

    passwords.admin adds an action that mails a link to a user, and registers it.
    """

    list_display = ["email", "first_name", "last_name", "account", "role", "is_active", "is_staff"]
    list_select_related = ["account"]
    list_filter = ["role", "is_active", "is_staff"]
    search_fields = ["email", "first_name", "last_name", "=account__name"]
    search_help_text = "Part of an address or name, or a company's whole name."
    fields = ["id", "email", "first_name", "last_name", "language", "account", "role"]
    fields += ["is_active", "is_staff", "is_superuser", "groups", "user_permissions", "created_at"]
    readonly_fields = ["id", "email", "account", "role", "is_active", "created_at"]
    filter_horizontal = ["groups", "user_permissions"]
    actions = ["sign_out", "deactivate", "activate"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only a superuser says who may do what in here."""
        fields = list(super().get_readonly_fields(request, obj))
        if not request.user.is_superuser:
            fields += ["is_staff", "is_superuser", "groups", "user_permissions"]
        return fields

    @admin.action(description="Sign out everywhere", permissions=["change"])
    def sign_out(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        users = list(queryset)
        for user in users:
            user.sign_out(request.user)  # type: ignore[arg-type]
        self.message_user(request, f"Users signed out: {len(users)}.")

    @admin.action(description="Deactivate: no sign-in, tokens stop", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.set_active(request, queryset.filter(is_active=True), Kind.DEACTIVATED)

    @admin.action(description="Activate", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.set_active(request, queryset.filter(is_active=False), Kind.ACTIVATED)

    def set_active(self, request: HttpRequest, users: QuerySet[User], kind: Kind) -> None:
        changed = 0
        for user in users:
            try:
                with transaction.atomic():
                    user.change_standing(is_active=kind == Kind.ACTIVATED)
                    self.record(kind, request, user)
            except LastAdmin as error:
                self.message_user(request, f"{user}: {error.detail}.", messages.ERROR)
            else:
                changed += 1
        self.message_user(request, f"Users {kind.label}: {changed}.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("invitations.add_invitation"))

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A new user is invited; by name, since this app knows nothing of invitations."""
        return redirect("admin:invitations_invitation_add")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Consultant)
class ConsultantAdmin(LargeTableAdmin):
    list_display = ["__str__", "account", "user", "manager"]
    list_select_related = ["account", "user", "manager"]
    search_fields = ["name", "user__email"]
    autocomplete_fields = ["account", "user", "manager"]

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        """No plus sign beside the people: adding one invites, and gives no user at once."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if db_field.name in {"user", "manager"} and field is not None:
            field.widget.can_add_related = False
        return field


@admin.register(OutgoingMail)
class OutgoingMailAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "email", "kind", "state", "attempts", "problem", "sent_at"]
    list_filter = ["state", "kind"]
    search_fields = ["email__startswith"]
    actions = ["try_again"]

    @admin.action(description="Try again now", permissions=["view"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[OutgoingMail]) -> None:
        again = 0
        with transaction.atomic():
            for mail in queryset.filter(
                state__in=[State.READY, State.FAILED], link_id__isnull=False
            ):
                mail.set_state(State.READY, due_at=timezone.now())
                trail.record(Kind.MAIL_RETRIED, actor=request.user, subject=mail.email)  # type: ignore[arg-type]
                again += 1
        self.message_user(request, f"Mails to be tried again: {again}.")


@admin.register(SignupLink)
class SignupLinkAdmin(ReadOnlyAdmin):
    list_display = ["email", "created_at", "expires_at", "used_at"]
    search_fields = ["email__startswith"]
    exclude = ["generation"]
