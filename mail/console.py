"""Mail in a developer's terminal: recipient, subject and text, with the link once."""

import sys
from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

SEPARATOR = "-" * 72


class EmailBackend(BaseEmailBackend):
    """Django's own prints the encoded message, with both text and HTML."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for mail in email_messages:
            head = f"To: {', '.join(mail.to)}\nSubject: {mail.subject}"
            # In one write, since other processes write to the terminal as well.
            sys.stdout.write(f"\n{SEPARATOR}\n{head}\n\n{str(mail.body).strip()}\n{SEPARATOR}\n\n")
            sys.stdout.flush()
        return len(email_messages)
