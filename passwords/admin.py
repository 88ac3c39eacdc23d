"""Password changes in the admin site: the links, and a way to send one to a user."""

from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts import admin as accounts
from accounts.admin import ReadOnlyAdmin
from accounts.models import User
from passwords.models import PasswordChange, PasswordChangeQuerySet


class StatusFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("live", "live"), ("used", "used"), ("expired", "expired")]

    def queryset(self, request: HttpRequest, queryset: Any) -> QuerySet[PasswordChange]:
        links = cast(PasswordChangeQuerySet, queryset)
        if self.value() == "live":
            return links.live()
        if self.value() == "used":
            return links.filter(used_at__isnull=False)
        if self.value() == "expired":
            return links.filter(used_at=None, expires_at__lte=timezone.now())
        return links


@admin.register(PasswordChange)
class PasswordChangeAdmin(ReadOnlyAdmin):
    list_display = ["email", "user", "created_at", "expires_at", "used_at"]
    list_select_related = ["user"]
    list_filter = [StatusFilter]
    search_fields = ["email__startswith"]
    fields = ["email", "user", "language", "created_at", "expires_at", "used_at"]
    readonly_fields = ["user", "created_at", "expires_at", "used_at"]


@admin.register(User)
class UserAdmin(accounts.UserAdmin):
    """The admin of users; from here, since the app of users knows nothing of password changes."""

    actions = [*accounts.UserAdmin.actions, "send_password_link"]

    @admin.action(description="Send a password-change link", permissions=["change"])
    def send_password_link(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Mails a link to each; an inactive user, who could not use it, gets none."""
        sent = 0
        for user in queryset:
            if user.is_active:
                actor = cast(User, request.user)
                PasswordChange.objects.request(user.email, user.language, actor)
                sent += 1
            else:
                self.message_user(request, f"Not for {user}, who is not active.", messages.ERROR)
        self.message_user(request, f"Password-change links requested: {sent}.")
