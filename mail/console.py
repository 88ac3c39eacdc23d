"""The e-mail backend that prints each mail to a developer's terminal."""

import sys
from collections.abc import Sequence

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

SEPARATOR = "-" * 72


class ConsoleEmailBackend(BaseEmailBackend):
    """Prints recipient, subject and text. Django's console backend prints the encoded message, in
    which the link stands twice, in the text and in the HTML."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for mail in email_messages:
            head = f"To: {', '.join(mail.to)}\nSubject: {mail.subject}"
            # In one write, since other processes write to the terminal as well.
            sys.stdout.write(f"\n{SEPARATOR}\n{head}\n\n{str(mail.body).strip()}\n{SEPARATOR}\n\n")
            sys.stdout.flush()
        return len(email_messages)
