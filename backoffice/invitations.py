"""The back office's pages of invitations, by which operators also add users."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import NotFound

from accounts.models import Role, User
from backoffice.diagnosis import diagnose_invitation
from backoffice.pages import PanelAdmin, acting_user
from base.admin import ReadOnlyAdmin, badge
from invitations.errors import InvitationRefused, UnknownConsultant
from invitations.models import Invitation, Status
from mail.outbox import OutgoingMail

STATUS_COLOURS = {Status.ACCEPTED: "good", Status.PENDING: "wait", Status.EXPIRED: "bad"}


class InviteForm(forms.ModelForm):
    """Shows why its invitation was refused: `reasons`, by field."""

    reasons: ClassVar[dict[str, str]]

    def clean(self) -> dict[str, object]:
        if self.reasons:
            raise ValidationError(dict(self.reasons))
        return self.cleaned_data


@admin.register(Invitation)
class InvitationAdmin(PanelAdmin, ReadOnlyAdmin):
    form = InviteForm
    list_display = ["email", "account", "role", "status", "invited_by", "created_at", "expires_at"]
    list_select_related = ["account", "invited_by"]
    list_filter = ["role"]
    search_fields = ["email", "=account__name"]
    search_help_text = "Part of an address, or a company's full name."
    fields = ["account", "email", "role", "consultant", "language"]
    autocomplete_fields = ["account", "consultant"]
    actions = ["resend", "revoke"]
    asks_first: ClassVar[dict[str, str]] = {"revoke": "The link in the mail stops working."}
    change_form_template = "backoffice/invitation.html"

    def status(self, invitation: Invitation) -> str:
        return badge(invitation.status.label, STATUS_COLOURS.get(invitation.status, ""))

    def heading_of(self, row: Invitation) -> str:
        return f"Invitation to {row.email}"

    def panel_facts(self, row: Invitation, viewer: User) -> dict[str, Any]:
        mails = OutgoingMail.objects.filter(link_id=row.pk).order_by("-created_at")
        mail = mails.first() if viewer.has_perm("mail.view_outgoingmail") else None
        return {"diagnosis": diagnose_invitation(row, mail), "mail": mail}

    def actions_without_effect(self, request: HttpRequest, row: Invitation) -> set[str]:
        return set() if row.status in {Status.PENDING, Status.EXPIRED} else {"resend", "revoke"}

    def get_form(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        form: Any = super().get_form(request, *args, **options)
        form.reasons = getattr(request, "invitation_refused", {})  # set by `add_view`
        return form

    def add_view(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """Django's page. If `save_model` raises one of the errors below, the form is shown again
        with the reason; PermissionDenied is passed on."""
        try:
            return super().add_view(request, *args, **options)
        except UnknownConsultant:
            text = "This consultant belongs to another company, or already has a user."
            reasons = {"consultant": text}
        except InvitationRefused as error:
            reasons = {"email": f"Refused: {error.detail}."}
        except NotFound:
            reasons = {"account": "This company was deleted."}
        vars(request)["invitation_refused"] = reasons  # for `get_form`
        return super().add_view(request, *args, **options)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def has_invite_permission(self, request: HttpRequest) -> bool:
        """Whether the caller may invite or change invitations, and so send again and revoke."""
        may_change = request.user.has_perm("invitations.change_invitation")
        return may_change or self.has_add_permission(request)

    def save_model(self, request: HttpRequest, obj: Invitation, form: object, change: bool) -> None:
        """Store the invitation `obj` and queue its mail. Raises PermissionDenied for inviting an
        admin if the caller lacks accounts.change_user, and for a protected user or company if the
        caller is no superuser; and UnknownConsultant, InvitationRefused, or NotFound for a deleted
        company, which `add_view` shows."""
        actor = acting_user(request)
        if obj.role != Role.MEMBER and not actor.has_perm("accounts.change_user"):
            raise PermissionDenied
        actor.require_can_manage_email(obj.email)
        obj.send(actor)

    def log_addition(self, request: HttpRequest, obj: Any, message: object) -> Any:
        """Does nothing: the invitation records its event itself."""

    @admin.action(description="Send again", permissions=["invite"])
    def resend(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        message = "{} will be sent again, with a new link."
        self.apply_to_each(request, queryset, Invitation.resend, message)

    @admin.action(description="Revoke", permissions=["invite"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Invitation]) -> None:
        self.apply_to_each(request, queryset, Invitation.revoke, "{} was revoked.")
