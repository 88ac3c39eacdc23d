"""The outbox in the admin site: its mails, their states, and the action to try again."""

import contextlib
import re
from urllib.parse import urlencode

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.template import TemplateDoesNotExist
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.html import format_html

from base.admin import ReadOnlyAdmin, badge
from mail.links import EmailedLink
from mail.message import compose_subject, template_context, time_zone_of
from mail.notices import NOTICE_PREFIX, SUBJECT_NEEDS_CONTEXT
from mail.outbox import MailState, OutgoingMail, UnknownKind

MAIL_STATE_COLOURS: dict[str, str] = {
    MailState.SENT: "good",
    MailState.FAILED: "bad",
    MailState.REFUSED: "bad",
    MailState.DROPPED: "",
}


@admin.register(OutgoingMail)
class OutgoingMailAdmin(ReadOnlyAdmin):
    heading = "Mail"
    list_display = ["created_at", "email", "kind_label", "coloured_state", "attempts", "problem"]
    list_display += ["sent_at"]
    list_filter = ["state"]
    search_fields = ["email"]
    fields = ["kind_label", "subject", "recipient", "state", "reply", "problem", "attempts"]
    fields += ["language", "created_at", "due_at", "sent_at", "origin"]
    readonly_fields = ["kind_label", "subject", "recipient", "reply"]
    actions = ["try_again"]

    @admin.display(description="state", ordering="state")
    def coloured_state(self, mail: OutgoingMail) -> str:
        return badge(MailState(mail.state).label, MAIL_STATE_COLOURS.get(mail.state, "wait"))

    @admin.display(description="kind")
    def kind_label(self, mail: OutgoingMail) -> str:
        return mail.kind_name.capitalize()

    def subject(self, mail: OutgoingMail) -> str:
        """The subject as it would be sent now. "" if there is no link, if the subject depends on a
        context that was emptied, or if the kind belongs to another release."""
        kind = mail.kind.removeprefix(NOTICE_PREFIX)
        if mail.context is None and kind in SUBJECT_NEEDS_CONTEXT:
            return ""
        with contextlib.suppress(UnknownKind, TemplateDoesNotExist):
            if content := mail.find_content():
                with translation.override(mail.language), timezone.override(time_zone_of(content)):
                    return compose_subject(content, template_context(mail, content))
        return ""

    @admin.display(description="mail server's reply")
    def reply(self, mail: OutgoingMail) -> str:
        """ "accepted" for a sent mail, the mail server's code after a failure, else ""."""
        code = re.search(r"\d{3}$", mail.problem)
        return "accepted" if mail.state == MailState.SENT else code[0] if code else ""

    @admin.display(description="to")
    def recipient(self, mail: OutgoingMail) -> str:
        """The address as a link to the list of users, filtered by it."""
        url = f"{reverse('admin:accounts_user_changelist')}?{urlencode({'q': mail.email})}"
        return format_html('<a href="{}">{}</a>', url, mail.email)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_change_permission(self, request)

    @admin.action(description="Try again now", permissions=["retry"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[OutgoingMail]) -> None:
        """Make the selected mails due now. Those of which the recipient or the link's company is
        protected are refused with a message, unless the user is a superuser. Skips, without one,
        sent and dropped mails, those of another release, and requests without a link."""
        with transaction.atomic():
            links = EmailedLink.models_by_label()
            decided = Q(link_id__isnull=False, kind__in=links) | Q(kind__startswith=NOTICE_PREFIX)
            states = [MailState.READY, MailState.FAILED, MailState.REFUSED]
            mails = queryset.filter(decided, state__in=states).select_for_update()
            self.apply_to_each(request, mails, OutgoingMail.try_again, "{} will be tried again.")
