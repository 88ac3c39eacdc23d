"""The back office's pages of users, companies and consultants."""

from operator import attrgetter
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.auth import admin as auth_admin  # noqa: F401  (registers Group)
from django.contrib.auth import logout
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html_join
from rest_framework.exceptions import APIException

from accounts.models import Account, Consultant, Role, User
from accounts.models.consultants import record_links
from backoffice import checks, invitations, limits, panels  # noqa: F401  (registers)
from backoffice.diagnosis import diagnose_user
from backoffice.pages import EditableAdmin, PanelAdmin, acting_user, lock_or_refuse
from base.admin import badge
from passwords.models import PasswordChange
from privacy.models import Erasure
from signin.factors.models import Factors
from throttling.models import Lockout

PRIVILEGES = ["is_staff", "is_superuser", "groups", "user_permissions"]


@admin.register(Account)
class AccountAdmin(PanelAdmin):
    heading = "Companies"
    list_display = ["name", "created_at"]
    search_fields = ["name"]
    readonly_fields = ["created_at", "is_operators"]
    change_form_template = "backoffice/company.html"
    history_key = attrgetter("pk")
    panel_facts = staticmethod(panels.read_company_panel)
    erasure_counts = staticmethod(panels.count_company_erasure)

    def may_erase(self, request: HttpRequest, row: Account) -> bool:
        return acting_user(request).is_superuser and not row.is_operators

    def heading_of(self, row: Account) -> str:
        is_being_erased = Erasure.objects.filter(account_id=row.pk).exists()
        return f"{row} (being erased)" if is_being_erased else str(row)

    def erase_row(self, request: HttpRequest, row: Account) -> str:
        Erasure.objects.delete_company(row, acting_user(request))
        return f"{row} is being erased, along with its users. They can no longer sign in."


@admin.register(User)
class UserAdmin(PanelAdmin):
    """Users are added by inviting them, since they choose their own passwords. Role and state are
    changed by actions, which apply the API's rules. Staff who are no superusers can only view other
    protected users: otherwise they could lock the operators out."""

    heading = "People"
    list_display = ["email", "name", "account", "role", "last_sign_in_at", "state"]
    list_select_related = ["account"]
    list_filter = ["role", "is_active", "is_staff"]
    search_fields = ["email", "first_name", "last_name", "=account__name"]
    search_help_text = "Part of an address or name, or a company's full name."
    fields = ["email", "first_name", "last_name", "language", "account", "role"]
    fields += ["is_active", "created_at", *PRIVILEGES]
    readonly_fields = ["email", "account", "role", "is_active", "created_at"]
    filter_horizontal = ["groups", "user_permissions"]
    actions = ["unlock", "send_password_link", "activate", "sign_out", "make_admin", "make_member"]
    actions += ["deactivate", "reset_factors"]
    asks_first: ClassVar[dict[str, str]] = {
        "sign_out": "Every session ends at once, and every connected app loses its access.",
        "make_admin": "Admins invite people, change roles and deactivate accounts.",
        "make_member": "Members manage no users. Open invitations they have sent are revoked.",
        "deactivate": "They are signed out at once, and can't sign in until you activate them.",
        "reset_factors": (
            "Authenticator apps, passkeys and recovery codes are removed, and every session ends. "
            "Make sure that the user is really the one who is asking."
        ),
    }
    change_form_template = "backoffice/user.html"
    erasure_counts = staticmethod(panels.count_user_erasure)

    def heading_of(self, row: User) -> str:
        return row.get_full_name() or row.email

    def panel_facts(self, row: User, viewer: User) -> dict[str, Any]:
        panel = panels.read_user_panel(row, viewer)
        return panel | {"diagnosis": diagnose_user(row, panel)}

    def may_erase(self, request: HttpRequest, row: User) -> bool:
        return acting_user(request).is_superuser and row != request.user

    def erase_row(self, request: HttpRequest, row: User) -> str:
        erasure = Erasure.objects.erase_user(row, acting_user(request))
        return f"Deleted the user. The audit log will soon show {erasure} instead."

    def actions_without_effect(self, request: HttpRequest, row: User) -> set[str]:
        """Names of the actions that would change nothing about the user, or be refused."""
        names = {"make_admin" if row.role == Role.ADMIN else "make_member"}
        names |= {"activate"} if row.is_active else {"deactivate", "send_password_link"}
        names |= {"send_password_link"} if row.must_use_provider else set()
        if row == request.user:
            names |= {"make_admin", "make_member", "activate", "deactivate", "reset_factors"}
        names |= set() if row.has_second_factor else {"reset_factors"}
        names |= {"make_member", "deactivate"} if row.is_only_admin else set()
        has_lockout = Lockout.objects.filter(email=row.email).exists()
        return names if has_lockout else names | {"unlock"}

    def name(self, user: User) -> str:
        return user.get_full_name()

    def state(self, user: User) -> str:
        badges = [badge("Operator", "wait")] if user.is_staff else []
        badges += [] if user.is_active else [badge("Deactivated", "bad")]
        return format_html_join(" ", "{}", [(text,) for text in badges])

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Django's fields; groups and permissions only for a user who is staff."""
        hidden_fields = set() if obj is None or obj.is_staff else {"groups", "user_permissions"}
        return [name for name in super().get_fields(request, obj) if name not in hidden_fields]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only a superuser can change privileges, and never their own."""
        fields = list(super().get_readonly_fields(request, obj))
        may_change = acting_user(request).is_superuser and obj != request.user
        return fields if may_change else fields + PRIVILEGES

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save only the fields that differ from those that the page showed: what others have
        changed since stays. Django saves groups and permissions afterwards. Open invitations of a
        former superuser to the operators' company are revoked. Raises PermissionDenied if the user
        was erased, or is another user who is protected by now while the caller is no superuser."""
        columns = {field.name for field in User._meta.concrete_fields}
        changes = {name: form.cleaned_data[name] for name in columns & {*form.changed_data}}
        users = User.objects.filter(pk=obj.pk)
        if obj != request.user:
            users = users.manageable_by(acting_user(request))
        lock_or_refuse(users)
        if changes:
            users.update(**changes)
        if changes.get("is_superuser") is False and obj.account.is_operators:
            obj.stop_inviting(acting_user(request))  # only superusers may invite to this company

    @admin.action(description="Sign out everywhere", permissions=["change"])
    def sign_out(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        actor, users = acting_user(request), list(queryset)
        if actor in users:
            logout(request)  # first, as the sign-in page shows the message from the new session
        message = "Signed {} out everywhere."
        self.apply_to_each(request, users, lambda user, _: user.sign_out(actor), message)

    def has_link_permission(self, request: HttpRequest) -> bool:
        permissions = ["accounts.view_user", "passwords.add_passwordchange"]
        return acting_user(request).has_perms(permissions)

    @admin.action(description="Send a password link", permissions=["change", "link"])
    def send_password_link(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Mail each user a link to a new password. Messages show the outcome, and why users who are
        inactive, protected or must use their company's provider get none."""

        def send_link(user: User, actor: User) -> None:
            if not user.is_active:
                raise APIException("deactivated users can't use a password link")
            if user.must_use_provider:
                raise APIException("the user signs in at the company's provider")
            PasswordChange.objects.mail_to(user, actor)

        self.apply_to_each(request, queryset, send_link, "A password link is on its way to {}.")

    def has_unlock_permission(self, request: HttpRequest) -> bool:
        return acting_user(request).has_perms(["accounts.view_user", "throttling.change_lockout"])

    @admin.action(description="Unlock", permissions=["change", "unlock"])
    def unlock(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        def unlock_address(user: User, actor: User) -> bool:
            return Lockout.objects.unlock(user.email, actor)

        self.apply_to_each(request, queryset, unlock_address, "{} can sign in again.")

    @admin.action(description="Remove second factors", permissions=["superuser"])
    def reset_factors(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        message = "Removed the second factors of {}."
        self.apply_to_each(request, queryset, Factors.objects.reset, message)

    @admin.action(description="Make admin", permissions=["change"])
    def make_admin(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.change_users(request, queryset, "{} is now an admin.", role=Role.ADMIN)

    @admin.action(description="Make member", permissions=["change"])
    def make_member(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.change_users(request, queryset, "{} is now a member.", role=Role.MEMBER)

    @admin.action(description="Deactivate", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        message = "Deactivated {} and ended all sessions."
        self.change_users(request, queryset, message, is_active=False)

    @admin.action(description="Activate", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.change_users(request, queryset, "{} can sign in again.", is_active=True)

    def change_users(
        self, request: HttpRequest, users: QuerySet[User], message: str, **change: Any
    ) -> None:
        """Apply `change`, a new `role` or `is_active`, to each user by the API's rules. Messages
        show each refusal, which open invitations were revoked with their inviter's rights, and
        `message`, in which {} stands for the changed users."""

        def change_user(user: User, actor: User) -> bool:
            if user == actor:
                raise APIException("you can't change your own role or state here")
            changes, revoked_emails = user.update_role_or_active(actor, **change)
            if revoked_emails:
                text = f"Revoked open invitations from {user}: {', '.join(revoked_emails)}."
                messages.warning(request, text)
            return bool(changes)

        self.apply_to_each(request, users, change_user, message)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("invitations.add_invitation"))

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redirects to the invitation form."""
        return redirect("admin:invitations_invitation_add")


@admin.register(Consultant)
class ConsultantAdmin(EditableAdmin):
    list_display = ["__str__", "account", "user", "manager"]
    list_select_related = ["account", "user", "manager"]
    search_fields = ["name", "user__email"]
    autocomplete_fields = ["account", "user", "manager"]
    history_key = attrgetter("pk")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ["account"] if obj else []

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_allowed: bool = super().has_delete_permission(request, obj)
        return is_allowed and acting_user(request).can_manage(obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save the profile, and record whose it was and is. Raises PermissionDenied if the company,
        user or manager in the form is protected and the caller no superuser, or if the row was
        deleted meanwhile."""
        actor, rows = acting_user(request), Consultant.objects.filter(pk=obj.pk)
        actor.require_can_manage(obj)
        former = rows.select_for_update(no_key=True).first()
        super().save_model(request, obj, form, change)
        record_links(actor, former, rows.get())

    def record_deletion(self, actor: User, row: Any) -> None:
        """Record also whose profile it was. Raises PermissionDenied if the profile is protected by
        now and the actor no superuser."""
        actor.require_can_manage(row)
        record_links(actor, row, None)
        super().record_deletion(actor, row)


admin.site.unregister(Group)  # `manage.py roles` makes them
