"""What a mail server's answers and failures mean for a mail."""

import re
import smtplib

MAIL_SERVER_ERRORS = (OSError, smtplib.SMTPException, UnicodeError)
NO_MAILBOX_CODES = {550, 551, 553}  # RFC 5321 §4.2.3
ENHANCED_STATUS = re.compile(rb"[245]\.\d{1,3}\.\d{1,3}\b")  # RFC 3463 §2
MAILBOX_STATUS = re.compile(rb"5\.(1\.([0-6]|10)$|2\.)")  # §3.2 without the sender's, §3.3


class NotSent(Exception):
    """The mail server refused a mail, or failed."""

    def __init__(self, error: Exception) -> None:
        super().__init__(failure_summary(error))
        self.is_final = is_final(error)
        self.is_server_failure = is_server_failure(error)


def smtp_reply(error: Exception) -> tuple[int, bytes]:
    """A mail server's reply code and text (RFC 5321 §4.2); 0 if it gave none."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return next(iter(error.recipients.values()))
    return getattr(error, "smtp_code", 0), getattr(error, "smtp_error", b"")


def failure_summary(error: Exception) -> str:
    """The type of an error, and the mail server's reply code, if any. Not its text, which may
    repeat the mail."""
    code, _ = smtp_reply(error)
    return type(error).__name__ + (f" {code}" if code else "")


def is_final(error: Exception) -> bool:
    """Whether the mail server says that the mailbox will never accept mail.

    Other refusals (5.7.x, 554) may be due to this service: credentials that are wrong for a while
    must not lose the mails of that time.
    """
    code, text = smtp_reply(error)
    if status := ENHANCED_STATUS.match(text):
        return bool(MAILBOX_STATUS.match(status[0]))
    return isinstance(error, smtplib.SMTPRecipientsRefused) and code in NO_MAILBOX_CODES


def is_server_failure(error: Exception) -> bool:
    """Whether the server failed, rather than refused a mail."""
    refused = isinstance(error, smtplib.SMTPException)
    lost = isinstance(error, smtplib.SMTPServerDisconnected)
    return isinstance(error, OSError) and (lost or not refused)
