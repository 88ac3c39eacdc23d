"""The mail outbox in the admin site."""

from typing import cast

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from audit import trail
from base.admin import ReadOnlyAdmin
from mail.links import EmailedLink
from mail.notices import PREFIX
from mail.outbox import OutgoingMail, State


@admin.register(OutgoingMail)
class OutgoingMailAdmin(ReadOnlyAdmin):
    heading = "Mail"
    list_display = ["created_at", "email", "kind_label", "state", "attempts", "problem", "sent_at"]
    list_filter = ["state"]
    search_fields = ["email__startswith"]
    actions = ["try_again"]

    @admin.display(description="kind")
    def kind_label(self, mail: OutgoingMail) -> str:
        return mail.kind_name.capitalize()

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_change_permission(self, request)

    @admin.action(description="Try again now", permissions=["retry"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[OutgoingMail]) -> None:
        actor = cast(trail.Actor, request.user)
        with transaction.atomic():
            links = EmailedLink.models_by_label()
            decided = Q(link_id__isnull=False, kind__in=links) | Q(kind__startswith=PREFIX)
            states = [State.READY, State.FAILED, State.REFUSED]
            mails = queryset.filter(decided, state__in=states)
            message = "{} will be tried again."
            self.apply_to_each(
                request, mails.select_for_update(), lambda mail: mail.try_again(actor), message
            )
