"""Rendering a mail: subject, text and HTML from its templates."""

import math
import re
import textwrap
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import parseaddr
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import timezone, translation

from mail.links import EmailedLink
from mail.notices import Notice
from mail.words import harmless_name

# Parts of a User-Agent header. The first match counts, since most browsers also name older ones.
# The client chooses the header.
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "FxiOS/": "Firefox"}
BROWSERS |= {"CriOS/": "Chrome", "Chrome/": "Chrome", "Safari/": "Safari", "curl/": "curl"}
SYSTEMS = {"Windows": "Windows", "Android": "Android", "iPhone": "iOS", "iPad": "iPadOS"}
SYSTEMS |= {"Mac OS X": "macOS", "CrOS": "ChromeOS", "Linux": "Linux"}
BLANK_LINES = re.compile(r"\n{3,}")  # where a block of the layout is empty


def origin_context(when: datetime, origin: Mapping[str, str]) -> dict[str, object]:
    """When and from where a mail was requested, for its templates: `when`, `address`, `browser` and
    `system`, "" if unknown. `origin` is that of the OutgoingMail."""
    browser, system = browser_and_system(origin.get("agent", ""))
    address = harmless_name(origin.get("address", ""))
    return {"when": when, "address": address, "browser": browser, "system": system}


def browser_and_system(agent: str) -> list[str]:
    """["Firefox", "Windows"] of a User-Agent header; "" if unknown."""
    marks = (BROWSERS, SYSTEMS)
    return [next((names[mark] for mark in names if mark in agent), "") for names in marks]


def link_context(link: EmailedLink) -> dict[str, object]:
    """The context of every template of a mail with a link."""
    life = link.expires_at - timezone.now() if link.expires_at else link.lifetime()
    minutes = math.ceil(life / timedelta(minutes=1))
    days = minutes // (24 * 60)
    lock = math.ceil(settings.LOCKOUT_SECONDS / 60)
    return {"url": link.url, "minutes": minutes, "hours": minutes // 60, "days": days, "lock": lock}


def inbox_preview(text: str) -> str:
    """The preview that an inbox shows next to the subject: the text after the greeting."""
    greeting, _, rest = text.partition("\n\n")
    preview = textwrap.shorten(rest.partition("\n\n")[0] or greeting, 140, placeholder="…")
    return preview[:1].upper() + preview[1:]


def render_layout(content: EmailedLink | Notice, layout: str, context: Mapping[str, object]) -> str:
    """One layout of templates/emails/parts, filled with the blocks of the mail's own template."""
    layout = f"emails/parts/{layout}"
    return render_to_string(f"emails/{content.mail_name}.txt", {**context, "layout": layout})


def compose_subject(content: EmailedLink | Notice, context: Mapping[str, object]) -> str:
    return " ".join(render_layout(content, "subject.txt", context).split())


def compose_mail(
    mail_id: UUID, content: EmailedLink | Notice, language: str, origin: Mapping[str, object]
) -> EmailMultiAlternatives:
    """A message with subject, text and HTML in `language`. `origin` comes from `origin_context`."""
    context = {**origin, **(link_context(content) if isinstance(content, EmailedLink) else {})}
    context |= {"links": settings.LINKS} | content.mail_context()
    with translation.override(language):
        subject = compose_subject(content, context)
        text = BLANK_LINES.sub("\n\n", render_layout(content, "mail.txt", context))
        context |= {"language": language, "title": subject, "preheader": inbox_preview(text)}
        html = render_layout(content, "mail.html", context)
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    message = EmailMultiAlternatives(subject, text, to=[content.email])
    message.attach_alternative(html, "text/html")
    # RFC 3834: no out-of-office replies. The same id lets mail systems recognise a repeat.
    message.extra_headers = {
        "Auto-Submitted": "auto-generated",
        "Message-ID": f"<{mail_id}@{domain}>",
    }
    return message
