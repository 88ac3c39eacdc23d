"""Notice: a mail without a link that tells a user of a change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from django.conf import settings

from base.text import harmless_name, map_texts

NOTICE_PREFIX = "notice."
# Mails to users who were erased: their rows are deleted once the mail is sent or given up.
KINDS_DELETED_AT_END = {NOTICE_PREFIX + "erased"}
# Notices whose subject depends on the context, which is not kept after sending.
SUBJECT_NEEDS_CONTEXT = {"factor_added", "factor_removed", "invitations_revoked", "role_changed"}
SUBJECT_NEEDS_CONTEXT |= {"sso_changed"}
ADDRESS_KEYS = {"old", "new", "emails"}  # keys of a context that hold canonical e-mail addresses

# The built-in pages on which users see what a notice reports, by its name.
PAGES = {"new_sign_in": "profile#recent", "assistant_let_in": "profile#apps"}
PAGES |= dict.fromkeys(["email_is_changed", "email_change_requested"], "profile#profile")
PAGES |= {"role_changed": "profile#profile"}
PAGES |= dict.fromkeys(["password_changed", "wrong_codes", "factors_reset"], "profile#security")
PAGES |= dict.fromkeys(["factor_added", "factor_removed", "factor_required"], "profile#security")
PAGES |= dict.fromkeys(["recovery_code_used", "recovery_codes_made"], "profile#security")
PAGES |= {"api_key_made": "people#api-keys", "sso_changed": "people#sign-in"}
PAGES |= {"invitations_revoked": "people#invitations"}


@dataclass(frozen=True)
class Notice:
    """A mail to a user, queued in the transaction of the change that it reports:
    `OutgoingMail.objects.queue_notice(Notice("password_changed", user.email, user.language))`.

    The template templates/emails/<mail_name>.txt gets `context`, which must be JSON-serialisable,
    and when and from where the change was made. `harmless_name` shortens every text in the context,
    except those under ADDRESS_KEYS, to 60 characters, and prevents links in it. Therefore pass
    names, and flags by which the template chooses its sentences, but no sentences.
    """

    mail_name: str
    email: str
    language: str
    context: Mapping[str, object] = field(default_factory=dict)
    waits_for_budget: ClassVar[bool] = False  # `queue_notice` has limited it already
    is_protected: ClassVar[bool] = False

    def mail_context(self) -> dict[str, object]:
        """The template's context: `context`, with its texts made harmless except for ADDRESS_KEYS,
        and `page_url`, the built-in page to which the title links. `page_url` is "" if no page
        shows the change, or if this service does not serve the built-in pages."""
        names = {name: value for name, value in self.context.items() if name not in ADDRESS_KEYS}
        page = PAGES.get(self.mail_name) if settings.SERVES_PAGES else None
        page_url = f"{settings.FRONTEND_URL}/{page}" if page else ""
        return {**self.context, **map_texts(harmless_name, names), "page_url": page_url}

    def is_live(self) -> bool:
        return True

    def mail_was_sent(self, now: datetime) -> None:
        """Does nothing: a notice has no link."""
