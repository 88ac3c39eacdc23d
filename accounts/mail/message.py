"""How a mail reads: its subject, text and HTML, made from the templates of its link's kind."""

import math
from datetime import timedelta
from email.utils import parseaddr
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils import timezone, translation

from accounts.mail.links import EmailedLink


def one_line(name: str) -> str:
    """A name as a mail may show it: no line breaks, controls or signs that turn the reading
    direction, by which a name could pass for the mail's own words or headers."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())


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
