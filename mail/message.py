"""How a mail reads: its subject, text and HTML, made from the templates of its link's kind."""

import math
import re
from datetime import timedelta
from email.utils import parseaddr
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import timezone, translation

from mail.links import EmailedLink

LONGEST_NAME = 60  # characters
QUOTATION_MARKS = re.compile('["\u201c-\u201f\xab\xbb]')
# Mail clients make links of `evil.test`, of addresses and of telephone numbers, with no scheme
# before them. With a word joiner (invisible, no break) on both sides they see no such thing.
LINKABLE = re.compile(r"[.:/@\d]")


def harmless(name: str) -> str:
    """A name as a mail may show it in quotation marks: it passes for none of the mail's own words,
    links or headers.

    On one line, without controls or signs that turn the reading direction, at most 60 characters.
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if len(line) > LONGEST_NAME:
        line = line[: LONGEST_NAME - 1].rstrip() + "…"
    return LINKABLE.sub("\u2060\\g<0>\u2060", QUOTATION_MARKS.sub("'", line))


def compose(mail_id: UUID, link: EmailedLink, language: str) -> EmailMultiAlternatives:
    """Subject, text and HTML from the templates of the link's kind, in `language`."""
    life = link.expires_at - timezone.now() if link.expires_at else link.life()
    minutes = math.ceil(life / timedelta(minutes=1))
    context = {"url": link.url, "minutes": minutes, "hours": minutes // 60}
    context |= {"days": minutes // (24 * 60)} | link.mail_context()
    name = f"emails/{link.mail_name}"
    with translation.override(language):
        subject = " ".join(render_to_string(f"{name}.subject.txt", context).split())
        text = render_to_string(f"{name}.txt", context)
        html = render_to_string(f"{name}.html", context | {"language": language})
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    message = EmailMultiAlternatives(subject, text, to=[link.email])
    message.attach_alternative(html, "text/html")
    # RFC 3834: no out-of-office replies. The same id again lets a mail system see a repeat.
    message.extra_headers = {
        "Auto-Submitted": "auto-generated",
        "Message-ID": f"<{mail_id}@{domain}>",
    }
    return message
