"""Notice: a mail that tells of what was done, and holds no link."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mail.words import harmless

PREFIX = "notice."
# Kinds whose mails are deleted once they have ended, sent or not: they would tell who the user was.
FORGOTTEN = {PREFIX + "erased"}


@dataclass(frozen=True)
class Notice:
    """A mail to whom it concerns, asked for in the transaction of what it tells of:
    `OutgoingMail.objects.queue_notice(Notice("password_changed", user.email, user.language))`.

    Its template is templates/emails/<kind>.txt. It sees `context`, which is what JSON can hold,
    each text in it made harmless, and of where it was done from what every mail is told
    (`mail.message.origin_context`).
    """

    kind: str
    email: str
    language: str
    context: Mapping[str, object] = field(default_factory=dict)

    @property
    def mail_name(self) -> str:
        return self.kind

    def mail_context(self) -> dict[str, object]:
        return {name: shown(value) for name, value in self.context.items()}

    def mail_was_sent(self, now: datetime) -> None:
        """Nothing begins."""


def shown(value: object) -> object:
    """A value of a context as templates may show it."""
    if isinstance(value, list):
        return [shown(item) for item in value]
    return harmless(value) if isinstance(value, str) else value
