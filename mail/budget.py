"""MailBudget: exact counts of requested mails by hour or day."""

from datetime import timedelta

from django.db import connections, models
from django.utils import timezone

from base.batches import delete_in_batches
from base.secret_key import mac_of

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

TAKE = """
INSERT INTO mail_mailbudget AS budget (name, used, begun_at) VALUES (%(name)s, 1, %(now)s)
ON CONFLICT (name) DO UPDATE SET
    used = CASE WHEN budget.begun_at <= %(over)s THEN 1 ELSE budget.used + 1 END,
    begun_at = CASE WHEN budget.begun_at <= %(over)s THEN excluded.begun_at ELSE budget.begun_at END
RETURNING used
"""


def budget_key(name: str) -> str:
    """The name as it is stored: a keyed hash, so that no addresses of erased users are kept."""
    return mac_of("mail.budget", name).hex()


class MailBudgetManager(models.Manager["MailBudget"]):
    def count_one(self, name: str, window: timedelta) -> int:
        """Count one more; returns its number in the window: 1, 2, 3 and so on.

        A window begins with its first mail. One statement, so that parallel calls are counted
        exactly; a transaction that is rolled back does not count.
        """
        connection, now = connections[self.db], timezone.now()
        moment = connection.ops.adapt_datetimefield_value
        values = {"name": budget_key(name), "now": moment(now), "over": moment(now - window)}
        with connection.cursor() as cursor:
            cursor.execute(TAKE, values)
            return int(cursor.fetchone()[0])

    def prune_expired(self) -> int:
        """Delete counts that no window needs; returns their number. Those that begin in more than a
        day are left by a clock that was ahead."""
        now = timezone.now()
        self.filter(begun_at__gt=now + DAY).delete()
        return delete_in_batches(self.filter(begun_at__lte=now - DAY))


class MailBudget(models.Model):
    """A count of mails to one address, or of one company, in the current window."""

    name = models.CharField(max_length=400, primary_key=True)
    used = models.PositiveIntegerField()
    begun_at = models.DateTimeField(db_index=True)

    objects = MailBudgetManager()

    def __str__(self) -> str:
        return self.name
