"""The kinds of mail that this release can make.

While a release is rolled out or back, the outbox may hold mails of a kind that only the other one
knows. They are left to that one.
"""

import functools

from django.conf import settings

from mail.links import EmailedLink
from mail.notices import PREFIX


@functools.cache
def known_kinds() -> dict[str, type[EmailedLink] | None]:
    """The kinds as the outbox names them, each with its model; None for a notice, which has
    templates alone."""
    templates = (settings.BASE_DIR / "templates/emails").glob("*.txt")
    notices = {PREFIX + path.stem: None for path in templates}
    return notices | {model._meta.label_lower: model for model in EmailedLink.kinds()}
