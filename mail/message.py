"""Renders a mail's subject, text and HTML from its templates."""

import re
import textwrap
from collections.abc import Mapping
from datetime import datetime
from email.utils import parseaddr
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import timezone, translation

from base.caller import browser_and_system
from base.emails import with_readable_domains
from mail.links import EmailedLink, UserLink
from mail.notices import Notice
from mail.outbox import OutgoingMail

BLANK_LINES = re.compile(r"\n{3,}")  # where a block of the layout is empty


class MailZone(ZoneInfo):
    """A time zone with the abbreviation that mails show: "CET", or "UTC+0545" for a zone without
    letters."""

    def tzname(self, moment: datetime | None) -> str:
        abbreviation = super().tzname(moment) or ""
        return abbreviation if abbreviation.isalpha() else f"UTC{abbreviation}"


def time_zone_of(content: EmailedLink | Notice) -> MailZone:
    """The time zone that the recipient's company has set; else UTC, as for a recipient who is no
    user. A link to a new address belongs to the company of the link's user."""
    users = get_user_model().objects
    if isinstance(content, UserLink):
        recipients = users.filter(pk=content.user_id)
    else:
        recipients = users.filter(email=content.email)
    name = recipients.values_list("account__time_zone", flat=True).first()
    return MailZone(name or "UTC")


def template_context(mail: OutgoingMail, content: EmailedLink | Notice) -> dict[str, object]:
    """The context of a mail's template: that of its link or notice, and when and from where the
    mail was requested: `when`, a datetime, and `address`, `browser` and `system`, "" if unknown."""
    browser, system = browser_and_system(mail.origin.get("agent", ""))
    address = mail.origin.get("address", "")
    caller = {"when": mail.created_at, "address": address, "browser": browser, "system": system}
    return caller | content.mail_context()


def inbox_preview(text: str) -> str:
    """The preview that an inbox shows next to the subject, at most 140 characters: the first
    paragraph after the greeting, or else the greeting. It begins with a capital letter."""
    greeting, _, body = text.partition("\n\n")
    preview = textwrap.shorten(body.partition("\n\n")[0] or greeting, 140, placeholder="…")
    return preview[:1].upper() + preview[1:]


def render_layout(content: EmailedLink | Notice, layout: str, context: Mapping[str, object]) -> str:
    """Render a layout of templates/emails/parts, such as "mail.html", with the blocks of the mail's
    own template, emails/<mail_name>.txt. Raises TemplateDoesNotExist if this release has none."""
    context = {**context, "layout": f"emails/parts/{layout}"}
    return render_to_string(f"emails/{content.mail_name}.txt", context)


def compose_subject(content: EmailedLink | Notice, context: Mapping[str, object]) -> str:
    """The subject on one line, in the active language, with the context of the mail's template.
    Raises TemplateDoesNotExist for a notice of another release."""
    subject = " ".join(render_layout(content, "subject.txt", context).split())
    return with_readable_domains(subject)


def compose_mail(mail: OutgoingMail, content: EmailedLink | Notice) -> EmailMultiAlternatives:
    """The message to send for a mail: subject, text and HTML in the mail's language, with times in
    the `time_zone_of` the content. `content` is the mail's link or notice; a link may get a new
    generation, which is stored. Raises TemplateDoesNotExist for a notice of another release."""
    if isinstance(content, EmailedLink):
        content.end_token_with_letter()
    context = template_context(mail, content)
    context["links"] = settings.LINKS  # for the foot: terms, privacy, help, imprint
    with translation.override(mail.language), timezone.override(time_zone_of(content)):
        subject = compose_subject(content, context)
        text = with_readable_domains(render_layout(content, "mail.txt", context))
        text = BLANK_LINES.sub("\n\n", text)
        context |= {"language": mail.language, "title": subject, "preheader": inbox_preview(text)}
        html = with_readable_domains(render_layout(content, "mail.html", context))
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2].encode("idna").decode()
    message = EmailMultiAlternatives(subject, text, to=[content.email])
    message.attach_alternative(html, "text/html")
    # No out-of-office replies: RFC 3834, and Exchange's own header (MS-OXCMAIL). By the id mail
    # systems recognise a mail sent twice.
    message.extra_headers = {
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "OOF, AutoReply",
        "Message-ID": f"<{mail.pk}@{domain}>",
    }
    return message
