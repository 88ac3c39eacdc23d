"""The outbox in the admin site."""

from typing import Any, cast

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst

from audit import trail
from audit.admin import ReadOnlyAdmin, each, report
from mail.kinds import known_kinds
from mail.notices import PREFIX
from mail.outbox import OutgoingMail, State


class KindFilter(admin.SimpleListFilter):
    """Filter by kind of mail."""

    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, Any]]:
        links = [model for model in known_kinds().values() if model]
        kinds = [(m._meta.label_lower, capfirst(m._meta.verbose_name)) for m in links]
        return [*kinds, (PREFIX, "Notices")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() == PREFIX:
            return queryset.filter(kind__startswith=PREFIX)
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(OutgoingMail)
class OutgoingMailAdmin(ReadOnlyAdmin):
    heading = "Mail"
    list_display = ["created_at", "email", "about", "state", "attempts", "problem", "sent_at"]
    list_filter = ["state", KindFilter]
    search_fields = ["email__startswith"]
    actions = ["try_again"]

    @admin.display(description="kind")
    def about(self, mail: OutgoingMail) -> str:
        return capfirst(mail.kind_name)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_change_permission(self, request)

    @admin.action(description="Try again now", permissions=["retry"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[OutgoingMail]) -> None:
        actor = cast(trail.Actor, request.user)
        with transaction.atomic():
            decided = Q(link_id__isnull=False) | Q(kind__startswith=PREFIX)
            states = [State.READY, State.FAILED, State.REFUSED]
            mails = queryset.filter(decided, state__in=states, kind__in=known_kinds())
            unsent = mails.select_for_update(skip_locked=True)  # not what is just being sent
            again = each(request, unsent, lambda mail: mail.try_again(actor))
        report(request, again, "{} will be tried again.", "{} mails will be tried again.")
