"""MailTally: how many mails have come to which end, since the beginning.

The outbox forgets them after a while, and workers are many; a row for each end is what metrics can
read at every scrape.
"""

from django.db import models
from django.db.models import F


class MailTallyManager(models.Manager["MailTally"]):
    def add(self, state: str) -> None:
        """Count one more mail, after the transaction that has ended it."""
        if not self.filter(state=state).update(mails=F("mails") + 1):
            self.update_or_create(
                state=state, defaults={"mails": F("mails") + 1}, create_defaults={"mails": 1}
            )


class MailTally(models.Model):
    """The mails that were sent, dropped, given up or refused."""

    state = models.CharField(max_length=10, primary_key=True)
    mails = models.PositiveBigIntegerField()

    objects = MailTallyManager()

    def __str__(self) -> str:
        return f"{self.state}: {self.mails}"
