"""People and companies in the admin site, with all that a support call asks about them.

They stand above every other app, since their pages show what those know: locks, sign-ins,
assistants, mails, invitations, password links.
"""

from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import logout
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.errors import EmailTaken, LastAdmin
from accounts.models import Account, Consultant, Role, User
from audit.admin import AuditedAdmin, LargeTableAdmin, each
from audit.models import Kind
from backoffice import panels
from backoffice.diagnosis import diagnose
from backoffice.paneled import PanelAdmin, caller
from emailchanges.models import change_by_operator
from passwords.models import PasswordChange
from privacy.erasure import delete_company, erase
from signin.factors.models import Factors
from throttling.models import Lockout

DONE = {
    Kind.ROLE_CHANGED: _("Users role changed: %(count)s."),
    Kind.DEACTIVATED: _("Users deactivated: %(count)s."),
    Kind.ACTIVATED: _("Users activated: %(count)s."),
}
PRIVILEGES = ["is_staff", "is_superuser", "groups", "user_permissions"]


@admin.register(Account)
class AccountAdmin(PanelAdmin):
    list_display = ["name", "id", "created_at"]
    search_fields = ["name"]
    readonly_fields = ["id", "created_at", "is_operators"]
    change_form_template = "backoffice/company.html"

    def panel(self, row: Account) -> dict[str, Any]:
        return panels.of_account(row)

    def may_erase(self, request: HttpRequest, row: Account) -> bool:
        return super().may_erase(request, row) and not row.is_operators

    def erase(self, request: HttpRequest, row: Account) -> str:
        people = delete_company(row, caller(request))
        return gettext("Deleted, with %(count)s people.") % {"count": people}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and caller(request).may_act_on(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class UserAdmin(PanelAdmin):
    """People come in by sign-up or invitation, and their passwords are their own: to add one is
    to invite. Role and state change by rules, so they are actions rather than fields.

    Superusers, staff and the operators' company are read-only to staff who are no superusers,
    actions included: whoever could rename, deactivate or sign out an operator could shut the
    operators out. Nobody changes their own role or privileges.
    """

    list_display = ["email", "name", "account", "role", "is_active", "is_staff"]
    list_select_related = ["account"]
    list_filter = ["role", "is_active", "is_staff"]
    search_fields = ["email", "first_name", "last_name", "=account__name"]
    search_help_text = _("Part of an address or name, or a company's whole name.")
    fields = ["id", "email", "first_name", "last_name", "language", "account", "role"]
    fields += ["is_active", "created_at", *PRIVILEGES]
    readonly_fields = ["id", "email", "account", "role", "is_active", "created_at"]
    filter_horizontal = ["groups", "user_permissions"]
    buttons = ["sign_out", "send_password_link", "unlock", "make_admin", "make_member"]
    buttons += ["deactivate", "activate", "reset_factors"]
    actions = list(buttons)
    asks_first: ClassVar[dict[str, Any]] = {
        "sign_out": _("Every session ends at once, assistants' too."),
        "make_admin": _("Admins invite people, change roles and deactivate accounts."),
        "make_member": _(
            "Members manage nobody; the open invitations that they have sent are revoked."
        ),
        "deactivate": _("They are signed out at once, and cannot sign in until activated again."),
        "reset_factors": _(
            "Apps, passkeys and recovery codes are removed, and every session ends. "
            "Make sure that it is really they who ask."
        ),
    }
    change_form_template = "backoffice/user.html"

    def panel(self, row: User) -> dict[str, Any]:
        panel = panels.of_user(row)
        return panel | {"finding": diagnose(row, panel)}

    def erase(self, request: HttpRequest, row: User) -> str:
        called = erase(row, caller(request))
        return gettext("Erased. The audit trail says %(name)s from now on.") % {"name": called}

    def offered(self, request: HttpRequest, row: User) -> list[tuple[str, str]]:
        """Without the buttons that would change nothing."""
        idle = {
            "make_admin" if row.role == Role.ADMIN else "make_member",
            "activate" if row.is_active else "deactivate",
        }
        if row == request.user:
            idle = {"make_admin", "make_member", "activate", "deactivate", "reset_factors"}
        if not row.has_second_factor:
            idle.add("reset_factors")
        if row.is_only_admin:
            idle |= {"make_member", "deactivate"}
        return [(name, words) for name, words in super().offered(request, row) if name not in idle]

    @admin.display(description=_("name"))
    def name(self, user: User) -> str:
        return user.get_full_name()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and (obj == request.user or caller(request).may_act_on(obj))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Groups and permissions only where they mean something, or may be given."""
        fields = list(super().get_fields(request, obj))
        if obj is not None and not obj.is_staff:
            fields = [name for name in fields if name not in {"groups", "user_permissions"}]
        return fields

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Only a superuser says who may do what in here, and under which address; and nobody says
        of themselves what they may."""
        fields = list(super().get_readonly_fields(request, obj))
        if not caller(request).is_superuser:
            return fields + PRIVILEGES
        fields.remove("email")
        return fields + PRIVILEGES if obj == request.user else fields

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """What was changed alone, and only where the caller may still act on the user: what others
        have changed meanwhile, a password or a flag, stays."""
        if "email" in form.changed_data:
            self.change_email(request, obj)
        columns = {field.name for field in User._meta.concrete_fields} - {"email"}
        changes = {name: form.cleaned_data[name] for name in columns & {*form.changed_data}}
        users = User.objects.filter(pk=obj.pk)
        if obj != request.user:
            users = users.within_reach(caller(request))
        if changes and not users.update(**changes):
            raise PermissionDenied

    def change_email(self, request: HttpRequest, user: User) -> None:
        """Another address is told to both, and ends what was open for the old one."""
        try:
            change_by_operator(user, user.email, caller(request))
        except EmailTaken as error:
            why = gettext(str(error.detail))
            self.message_user(request, f"{user.email}: {why}.", messages.ERROR)
        user.refresh_from_db(fields=["email"])

    @admin.action(description=_("Sign out everywhere"), permissions=["change"])
    def sign_out(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        users = list(queryset)
        signed_out = each(request, users, lambda user: user.sign_out(caller(request)))
        if request.user in users:
            # Messages are kept in the session: what is said from here on stands in one of
            # nobody's, for the log-in page to show.
            logout(request)
        self.message_user(request, gettext("Users signed out: %(count)s.") % {"count": signed_out})

    def has_link_permission(self, request: HttpRequest) -> bool:
        return caller(request).has_perms(["accounts.view_user", "passwords.add_passwordchange"])

    @admin.action(description=_("Send a password-change link"), permissions=["change", "link"])
    def send_password_link(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Mails a link to each; an inactive user, who could not use it, gets none."""

        def send(user: User) -> None:
            PasswordChange.objects.mail_to(user, actor=caller(request))

        for user in queryset.filter(is_active=False):
            said = gettext("Not for %(user)s, who is not active.") % {"user": user}
            self.message_user(request, said, messages.ERROR)
        sent = each(request, queryset.filter(is_active=True), send)
        said = gettext("Password-change links requested: %(count)s.") % {"count": sent}
        self.message_user(request, said)

    def has_unlock_permission(self, request: HttpRequest) -> bool:
        return caller(request).has_perms(["accounts.view_user", "throttling.change_lockout"])

    @admin.action(description=_("Unlock: let them sign in again"), permissions=["change", "unlock"])
    def unlock(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        actor = caller(request)
        cleared = each(request, queryset, lambda user: Lockout.objects.unlock(user.email, actor))
        said = gettext("Lockouts cleared: %(count)s.") % {"count": cleared}
        self.message_user(request, said)

    def has_reset_permission(self, request: HttpRequest) -> bool:
        return caller(request).is_superuser

    @admin.action(description=_("Remove second factors"), permissions=["reset"])
    def reset_factors(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Of others; one's own take a password and a factor, on the account page."""
        others = queryset.exclude(pk=caller(request).pk)
        reset = each(request, others, lambda user: Factors.objects.reset(user, caller(request)))
        said = gettext("Users whose second factors were removed: %(count)s.") % {"count": reset}
        self.message_user(request, said)

    @admin.action(description=_("Make admin"), permissions=["change"])
    def make_admin(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.update_role_or_active(request, queryset, Kind.ROLE_CHANGED, role=Role.ADMIN)

    @admin.action(description=_("Make member"), permissions=["change"])
    def make_member(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.update_role_or_active(request, queryset, Kind.ROLE_CHANGED, role=Role.MEMBER)

    @admin.action(description=_("Deactivate: no sign-in, tokens stop"), permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.update_role_or_active(request, queryset, Kind.DEACTIVATED, is_active=False)

    @admin.action(description=_("Activate"), permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self.update_role_or_active(request, queryset, Kind.ACTIVATED, is_active=True)

    def update_role_or_active(
        self, request: HttpRequest, users: QuerySet[User], kind: Kind, **change: Any
    ) -> None:
        """Change each but the caller by the API's rule; the trail is told in the transaction of
        the change."""

        def take(user: User) -> bool:
            if user == request.user:
                own = gettext("%(user)s: nobody changes their own role or state here.")
                self.message_user(request, own % {"user": user}, messages.ERROR)
                return False
            try:
                with transaction.atomic():
                    changed, revoked = user.update_role_or_active(caller(request), **change)
                    if changed:
                        self.record(kind, request, user, **change)
            except LastAdmin as error:
                why = gettext(str(error.detail))
                self.message_user(request, f"{user}: {why}.", messages.ERROR)
                return False
            if revoked:
                said = gettext("%(user)s had sent invitations, now revoked: %(emails)s.")
                facts = {"user": user, "emails": ", ".join(revoked)}
                self.message_user(request, said % facts, messages.WARNING)
            return bool(changed)

        changed = each(request, users, take)
        self.message_user(request, DONE[kind] % {"count": changed})

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("invitations.add_invitation"))

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A new user is invited."""
        return redirect("admin:invitations_invitation_add")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ConsultantForm(forms.ModelForm):
    """Offers the people of the consultant's own company only."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        people = User.objects.filter(account=self.instance.account_id).order_by("email")
        for name in {"user", "manager"} & self.fields.keys():
            cast(forms.ModelChoiceField, self.fields[name]).queryset = people


@admin.register(Consultant)
class ConsultantAdmin(LargeTableAdmin):
    """The company is chosen first; then its people are offered as user and manager."""

    form = ConsultantForm
    list_display = ["__str__", "account", "user", "manager"]
    list_select_related = ["account", "user", "manager"]
    search_fields = ["name", "user__email"]
    autocomplete_fields = ["account"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ["account", "name", "user", "manager"] if obj else ["account", "name"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ["account"] if obj else []

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_change_permission(request, obj)
        return allowed and caller(request).may_act_on(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and caller(request).may_act_on(obj)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """`has_change_permission` has asked of the profile as it was; here as it will be."""
        caller(request).check_reach(obj)
        super().save_model(request, obj, form, change)

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        """No plus sign beside the people: adding one invites, and gives no user at once."""
        field = super().formfield_for_dbfield(db_field, request, **options)
        if db_field.name in {"user", "manager"} and field is not None:
            field.widget.can_add_related = False
        return field


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(AuditedAdmin, DjangoGroupAdmin):
    """For superusers alone: whoever fills groups gives permissions, to themselves, too."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    has_add_permission = has_view_permission
    has_change_permission = has_view_permission
    has_delete_permission = has_view_permission

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)
