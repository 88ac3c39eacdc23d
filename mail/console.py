"""Mail in a developer's terminal: recipient, subject and text, with the link once."""

import sys
from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

RULE = "-" * 72


class EmailBackend(BaseEmailBackend):
    """Django's own prints the message as it travels: encoded, with the HTML beside the text."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for mail in email_messages:
            head = f"To: {', '.join(mail.to)}\nSubject: {mail.subject}"
            # At once: the log's lines come from other processes.
            sys.stdout.write(f"\n{RULE}\n{head}\n\n{str(mail.body).strip()}\n{RULE}\n\n")
            sys.stdout.flush()
        return len(email_messages)
