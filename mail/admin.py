"""The mail outbox in the admin site."""

from urllib.parse import urlencode

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from base.admin import ReadOnlyAdmin
from mail.links import EmailedLink
from mail.notices import PREFIX
from mail.outbox import OutgoingMail, State


@admin.register(OutgoingMail)
class OutgoingMailAdmin(ReadOnlyAdmin):
    heading = "Mail"
    list_display = ["created_at", "email", "kind_label", "state", "attempts", "problem", "sent_at"]
    list_filter = ["state"]
    search_fields = ["email"]
    fields = ["kind_label", "recipient", "state", "problem", "attempts", "language"]
    fields += ["created_at", "due_at", "sent_at", "origin"]
    readonly_fields = ["kind_label", "recipient"]
    actions = ["try_again"]

    @admin.display(description="kind")
    def kind_label(self, mail: OutgoingMail) -> str:
        return mail.kind_name.capitalize()

    @admin.display(description="to")
    def recipient(self, mail: OutgoingMail) -> str:
        url = f"{reverse('admin:accounts_user_changelist')}?{urlencode({'q': mail.email})}"
        return format_html('<a href="{}">{}</a>', url, mail.email)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_change_permission(self, request)

    @admin.action(description="Try again now", permissions=["retry"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[OutgoingMail]) -> None:
        with transaction.atomic():
            links = EmailedLink.models_by_label()
            decided = Q(link_id__isnull=False, kind__in=links) | Q(kind__startswith=PREFIX)
            states = [State.READY, State.FAILED, State.REFUSED]
            mails = queryset.filter(decided, state__in=states).select_for_update()
            self.apply_to_each(request, mails, OutgoingMail.try_again, "{} will be tried again.")
