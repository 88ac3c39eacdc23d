"""Notice: a mail without a link about something that happened."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from base.text import harmless_name, map_texts

PREFIX = "notice."
# Mails of these kinds are deleted once sent or given up: they name users who were erased.
KINDS_DELETED_AT_END = {PREFIX + "erased"}
# Notices whose subject depends on the context, which is not kept after sending.
SUBJECTS_OF_CONTEXT = {"factor_added", "factor_removed", "invitations_revoked", "role_changed"}
SUBJECTS_OF_CONTEXT |= {"sso_changed"}
ADDRESSES = {"old", "new", "emails"}  # in a context: canonical e-mail addresses


@dataclass(frozen=True)
class Notice:
    """A mail to a user, queued in the transaction of the change that it reports:
    `OutgoingMail.objects.queue_notice(Notice("password_changed", user.email, user.language))`.

    Its template is templates/emails/<mail_name>.txt, whose context is `context` and
    `mail.message.origin_context`. `context` must be JSON-serialisable. Each text in it, except
    ADDRESSES, passes `harmless_name`, which cuts it at 60 characters: pass names, and flags by
    which the template chooses its sentences, but no sentence.
    """

    mail_name: str
    email: str
    language: str
    context: Mapping[str, object] = field(default_factory=dict)
    waits_for_budget: ClassVar[bool] = False  # as a link may; `queue_notice` has a limit

    def mail_context(self) -> dict[str, object]:
        names = {name: value for name, value in self.context.items() if name not in ADDRESSES}
        return {**self.context, **map_texts(harmless_name, names)}

    def is_live(self) -> bool:
        return True

    def mail_was_sent(self, now: datetime) -> None:
        """Does nothing: a notice has no link."""
