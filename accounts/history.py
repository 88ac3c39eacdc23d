"""By which emails somebody was known before, as the trail tells."""

from collections.abc import Collection, Iterator

from accounts.models import User
from audit.models import EMAIL_CHANGES, Record


def email_changes(user: User) -> Iterator[tuple[Record, str]]:
    """The records of changes of the user's email, the newest first, each with the email that the
    user had before it. What an operator has changed names the user by the email alone, and is no
    change of the operator's."""
    email = str(user.email)
    changes = Record.objects.filter(kind__in=EMAIL_CHANGES, account_id=user.account_id)
    for change in changes.order_by("-at"):
        is_own = change.actor_id == user.pk and change.subject == change.actor_email
        if is_own or change.subject == email:
            email = change.detail.get("old") or change.detail.get("undone") or email
            yield change, email


def not_of_others(emails: Collection[str], user: User) -> set[str]:
    """Those of the emails that nobody else has now."""
    others = User.objects.filter(email__in=emails).exclude(pk=user.pk)
    return set(emails) - set(others.values_list("email", flat=True))


def emails_of(user: User) -> set[str]:
    """The user's email and those before it, but for one that somebody else has now."""
    before = {email for _, email in email_changes(user)} - {user.email}
    return {str(user.email)} | (not_of_others(before, user) if before else set())
