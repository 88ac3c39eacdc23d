"""Invitations in the admin site: new users come in here."""

from collections.abc import Callable
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Role, User
from audit.admin import ReadOnlyAdmin, each
from audit.models import Kind
from invitations.exceptions import InvitationRefused, UnknownConsultant
from invitations.models import Invitation, InvitationQuerySet, Status

FORM_FIELDS = ["account", "email", "role", "consultant", "language"]
STATUS_FIELDS = ["status", "invited_by", "created_at", "expires_at", "used_at", "revoked_at"]


class StatusFilter(admin.SimpleListFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: object) -> Any:
        return Status.choices

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet[Invitation]:
        invitations, status = cast(InvitationQuerySet, queryset), self.value()
        return invitations.in_status(status) if status in Status.values else invitations


class InviteForm(forms.ModelForm):
    """Refuses what the API refuses.

    Its rules hold the company's row until the request's transaction ends: what is found here
    still holds when the invitation is saved. Whoever may not give roles invites members only.
    """

    actor: ClassVar[User]

    def clean_role(self) -> str:
        role: str = self.cleaned_data["role"]
        if role != Role.MEMBER and not self.actor.has_perm("accounts.change_user"):
            raise PermissionDenied
        return role

    def clean(self) -> dict[str, object]:
        if not self.errors:
            self.actor.check_reach_of_email(self.cleaned_data["email"])
            try:
                Invitation.objects.check_and_count(Invitation(**self.cleaned_data), self.actor)
            except UnknownConsultant:
                text = _("Belongs to another company, or has a user.")
                raise ValidationError({"consultant": text}) from None
            except InvitationRefused as error:
                why = gettext("Refused: %(why)s.") % {"why": gettext(str(error.detail))}
                raise ValidationError({"email": why}) from None
        return self.cleaned_data


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    form = InviteForm
    list_display = ["email", "account", "role", "status", "invited_by", "created_at", "expires_at"]
    list_select_related = ["account", "invited_by"]
    list_filter = [StatusFilter, "role"]
    search_fields = ["email", "=account__name"]
    search_help_text = _("Part of an address, or a company's whole name.")
    readonly_fields = STATUS_FIELDS
    autocomplete_fields = ["account", "consultant"]
    actions = ["resend", "revoke"]
    asks_first: ClassVar[dict[str, Any]] = {"revoke": _("The links in their mails stop working.")}

    @admin.display(description=_("status"))
    def status(self, invitation: Invitation) -> str:
        return str(invitation.status.label)

    def get_fields(self, request: HttpRequest, obj: object = None) -> Any:
        return [*FORM_FIELDS, *STATUS_FIELDS] if obj else FORM_FIELDS

    def get_form(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        """A class of the request's own, which knows who invites."""
        form: Any = super().get_form(request, *args, **options)
        form.actor = request.user
        return form

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def has_invite_permission(self, request: HttpRequest) -> bool:
        """Whoever may invite may send again and revoke; so may who has that permission alone."""
        changes = request.user.has_perm("invitations.change_invitation")
        return changes or self.has_add_permission(request)

    def save_model(self, request: HttpRequest, obj: Invitation, form: object, change: bool) -> None:
        Invitation.objects.save_and_mail(obj)

    def log_addition(self, request: HttpRequest, obj: Any, message: object) -> Any:
        obj.record(Kind.INVITATION_CREATED, request.user)
        return admin.ModelAdmin.log_addition(self, request, obj, message)

    @admin.action(description=_("Send again, with a new link"), permissions=["invite"])
    def resend(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        said = gettext("Invitations sent again: %(count)s.")
        self.each_open(request, queryset, Invitation.resend, Kind.INVITATION_RESENT, said)

    @admin.action(description=_("Revoke: the link stops working"), permissions=["invite"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        said = gettext("Invitations revoked: %(count)s.")
        self.each_open(request, queryset, Invitation.revoke, Kind.INVITATION_REVOKED, said)

    def each_open(
        self,
        request: HttpRequest,
        invitations: QuerySet[Invitation],
        step: Callable[[Invitation, User], None],
        kind: Kind,
        said: str,
    ) -> None:
        """Take the step with each invitation on its own; say of how many, or why it was refused."""
        actor = cast(User, request.user)

        def take(invitation: Invitation) -> bool:
            try:
                with transaction.atomic():
                    step(invitation, actor)
                    invitation.record(kind, actor)
            except InvitationRefused as error:
                facts = {"email": invitation.email, "why": gettext(str(error.detail))}
                refused = gettext("Refused for %(email)s: %(why)s.") % facts
                self.message_user(request, refused, messages.ERROR)
                return False
            return True

        count = each(request, invitations.select_related("account"), take)
        self.message_user(request, said % {"count": count})
