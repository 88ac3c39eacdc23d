"""The connection to the mail server, and what its answers and failures mean for a mail."""

import re
import smtplib
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail.backends.smtp import EmailBackend

# seconds for each of three steps: until a server takes a mail's text, until the text is sent, and
# until the server has checked and accepted it. All three must end within MAIL_LEASE: a mail whose
# lease has ended is sent again.
ANSWER_SECONDS = 80

# What smtplib raises if the server cannot be reached, fails or refuses, or for an address that it
# cannot encode.
MAIL_SERVER_ERRORS = (OSError, smtplib.SMTPException, UnicodeError)
NO_MAILBOX_CODES = {550, 551, 553}  # replies to RCPT, RFC 5321 §4.2.3
# RFC 3463 §2: at the beginning of a reply, or as qmail writes it, (#5.1.1) at the end.
ENHANCED_STATUS = re.compile(rb"(?:\A|(?<=\(#))[245]\.\d{1,3}\.\d{1,3}\b")
# §3.2 without the sender's, §3.3 without "other": Microsoft 365 refuses a sender whose name this
# service may not use with 5.2.0 or 5.2.252.
MAILBOX_STATUS = re.compile(rb"5\.(1\.([0-6]|10)|2\.[1-4])$")
# Words by which replies without a status refuse this service, whatever the mailbox.
SERVICE_REFUSED = re.compile(
    rb"(?i)relay|authenticat|sender|spam|junk|bl[ao]ck ?list|blocked|banned|prohibit|polic"
    rb"|access denied|reputation|reverse|\b(spf|dkim|dmarc|rbl|dnsbl|dns)\b"
)
# What a reply repeats or links to: an address, and the path of a link. The link's host stays: it
# may be that of a blocklist.
ADDRESS_OR_PATH = re.compile(rb"[^\s<:=]+@[^\s>]+|(https?://[^\s/]+)/\S*")


def is_full_name(name: str) -> bool:
    """Whether a host's name has a domain, other than the `localdomain` of some Linux systems, and
    is no IP address."""
    return "." in name.strip(".") and not re.search(r"(\d|\.localdomain)\Z", name)


def greeting_name(host_name: str, address: str) -> str:
    """The name of this host for EHLO. Servers refuse others than full names and addresses in
    brackets (RFC 5321 §4.1.4): `host_name`, or if that is no full name, such as a container's, the
    host of SERVICE_URL, or else the address from which the host connects."""
    names = (host_name, urlsplit(settings.SERVICE_URL).hostname or "")
    literal = f"[IPv6:{address}]" if ":" in address else f"[{address}]"  # §4.1.3
    return next(filter(is_full_name, names), literal)


class SmtpConnection(smtplib.SMTP):
    """A connection that greets with `greeting_name`, and while a mail is sent waits ANSWER_SECONDS
    for each step (RFC 5321 §4.5.3.2): a mail that the server accepts after the service has given up
    is sent again."""

    def __init__(self, host: str, port: int, local_hostname: str, **options: Any) -> None:
        super().__init__(host, port, local_hostname, **options)
        if self.sock:
            self.local_hostname = greeting_name(local_hostname, self.sock.getsockname()[0])

    def data(self, msg: Any) -> tuple[int, bytes]:
        """Send a mail's text, and return the answer. ANSWER_SECONDS apply to the answer to DATA, to
        the sending, and to the answer to the mail."""
        self.set_timeout(ANSWER_SECONDS)
        try:
            return super().data(msg)
        finally:
            self.set_timeout(self.timeout)

    def set_timeout(self, seconds: float) -> None:
        """Wait so many seconds for each answer, if the connection is still open."""
        if self.sock:
            self.sock.settimeout(seconds)


class SmtpTlsConnection(SmtpConnection, smtplib.SMTP_SSL):
    """An SmtpConnection with TLS from the beginning (port 465)."""


class SmtpBackend(EmailBackend):
    """Django's backend with SmtpConnection."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return SmtpTlsConnection if self.use_ssl else SmtpConnection


def smtp_reply(error: Exception) -> tuple[int, bytes]:
    """The code and text of the mail server's (first) reply; 0 and b"" if it gave none."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return next(iter(error.recipients.values()))
    return getattr(error, "smtp_code", 0), getattr(error, "smtp_error", b"")


def failure_summary(error: Exception) -> str:
    """The error's type and the reply's code, such as "SMTPDataError 451". The reply's text is left
    out, since it may repeat the mail."""
    code, _ = smtp_reply(error)
    return f"{type(error).__name__} {code or ''}".strip()


def is_final(error: Exception) -> bool:
    """Whether the mail server refuses the mailbox for good: it is unknown, disabled or full.

    Other permanent refusals (5.7.x, 554, those of the login and the sender) may be this service's
    fault: until the operator corrects that, no mail must be lost.
    """
    if not isinstance(error, smtplib.SMTPRecipientsRefused | smtplib.SMTPDataError):
        return False
    code, text = smtp_reply(error)
    if status := ENHANCED_STATUS.search(text):
        return bool(MAILBOX_STATUS.match(status[0]))
    is_refused = isinstance(error, smtplib.SMTPRecipientsRefused) and code in NO_MAILBOX_CODES
    return is_refused and not SERVICE_REFUSED.search(ADDRESS_OR_PATH.sub(rb"\1", text))
