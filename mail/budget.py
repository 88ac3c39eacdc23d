"""Budgets: how many mails of which kind may go out in an hour or a day, and for whom."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self
from uuid import UUID

from django.conf import settings
from django.db import connection, models
from django.utils import timezone

from base.batches import delete_in_batches
from base.emails import mailbox_of
from base.sealed import mac_of
from mail.links import EmailedLink

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

COUNT_MAIL = """
INSERT INTO mail_mailbudget AS budget (name, used, begun_at) VALUES (%(name)s, 1, %(now)s)
ON CONFLICT (name) DO UPDATE SET
    used = CASE WHEN budget.begun_at <= %(ended)s THEN 1 ELSE budget.used + 1 END,
    begun_at = CASE WHEN budget.begun_at <= %(ended)s
        THEN excluded.begun_at ELSE budget.begun_at END
RETURNING used
"""


def budgeted_mailbox(email: str) -> str:
    """The mailbox of a canonical address. All addresses with a tag (`ada+x@…`) count together and
    apart from the plain address, so that they cannot use up what the plain address may get."""
    return mailbox_of(email) + (" with a tag" if "+" in email else "")


@dataclass(frozen=True)
class Budget:
    """A number of mails in a window that begins with its first mail.

    Each class method makes one budget. Its docstring has the numbers of the default settings.
    """

    name: str
    limit: int
    window: timedelta = HOUR

    @classmethod
    def requests(cls, kind: type[EmailedLink], email: str, user_id: str = "") -> Self:
        """Requests for a kind of link to one address: 5 an hour, of an unlock link 1. The signed-in
        user with the id `user_id` has a budget apart from that of strangers."""
        limit = kind.per_hour or settings.MAIL_PER_ADDRESS_PER_HOUR
        return cls(f"{kind._meta.label_lower} {user_id}{email}", limit)

    @classmethod
    def links_by_strangers(cls, email: str) -> Self:
        """Sign-up links to one mailbox: 5 an hour to its plain address, 5 to those with a tag."""
        return cls(f"strangers {budgeted_mailbox(email)}", settings.MAIL_PER_ADDRESS_PER_HOUR)

    @classmethod
    def links_by_users(cls, email: str) -> Self:
        """Links to one mailbox that signed-in users caused, such as invitations: 10 an hour to its
        plain address, 10 to those with a tag."""
        return cls(f"users {budgeted_mailbox(email)}", 2 * settings.MAIL_PER_ADDRESS_PER_HOUR)

    @classmethod
    def links_for_user(cls, email: str) -> Self:
        """Links that anyone may request and only users get, such as password links: 10 an hour to
        the user's address."""
        return cls(f"user {email}", 2 * settings.MAIL_PER_ADDRESS_PER_HOUR)

    @classmethod
    def notices(cls, kind: str, email: str) -> Self:
        """Notices of a kind to one address: 30 an hour."""
        return cls(f"{kind} {email}", 30)

    @classmethod
    def new_sign_ins(cls, user_id: UUID) -> Self:
        """Mails to a user about a sign-in with another browser: 1 a day."""
        return cls(f"new sign-in {user_id}", 1, DAY)

    @classmethod
    def notices_of_rule(cls, company_id: UUID) -> Self:
        """Mails to a company's users that it now requires a second factor: 3 times a day."""
        return cls(f"second factor required {company_id}", 3, DAY)

    @classmethod
    def invitations_to(cls, company_id: UUID, email: str) -> Self:
        """A company's invitations to one address: 5 an hour."""
        return cls(f"invitations {company_id} {email}", settings.MAIL_PER_ADDRESS_PER_HOUR)

    @classmethod
    def invitations_of(cls, company_id: UUID) -> Self:
        """A company's invitations: 200 a day."""
        return cls(f"invitations {company_id}", settings.INVITATIONS_PER_DAY, DAY)

    @property
    def key(self) -> str:
        """The stored name: a keyed hash, so that the table holds no addresses of erased users."""
        return mac_of("mail.budget", self.name).hex()

    def spend(self) -> bool:
        """Count one more mail, also beyond the limit. Returns whether it is within the limit."""
        return self.count_mail() <= self.limit

    def count_mail(self) -> int:
        """Count one more mail. Returns its number in the window, which may be beyond the limit. A
        new window begins if the last one has ended.

        It is one statement, so that parallel calls are counted exactly: each waits until the
        transaction of the one before has ended. A transaction that is rolled back does not count.
        """
        as_stored, now = connection.ops.adapt_datetimefield_value, timezone.now()
        values = {"name": self.key, "now": as_stored(now), "ended": as_stored(now - self.window)}
        with connection.cursor() as cursor:
            cursor.execute(COUNT_MAIL, values)
            return int(cursor.fetchone()[0])

    def window_end(self) -> datetime:
        """When the window of the last counted mail ends. Raises MailBudget.DoesNotExist if none was
        counted."""
        return MailBudget.objects.get(name=self.key).begun_at + self.window


class MailBudgetManager(models.Manager["MailBudget"]):
    def prune_expired(self) -> int:
        """Delete the counts of ended windows; returns their number. Also deletes, without counting
        them, windows that begin over a day in the future: a host's clock was wrong."""
        now = timezone.now()
        self.filter(begun_at__gt=now + DAY).delete()
        return delete_in_batches(self.filter(begun_at__lte=now - DAY))


class MailBudget(models.Model):
    """How many mails a Budget has counted in its current window."""

    name = models.CharField(max_length=400, primary_key=True)  # the budget's key
    used = models.PositiveIntegerField()
    begun_at = models.DateTimeField(db_index=True)

    objects = MailBudgetManager()

    def __str__(self) -> str:
        return self.name
