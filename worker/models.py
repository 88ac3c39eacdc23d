"""Heartbeat: when the worker last made a round, and when each of its jobs last ran."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

ROUND = "round"
WORKER_SILENT_AFTER = timedelta(minutes=10)  # one mail to a server that hangs takes less


class HeartbeatManager(models.Manager["Heartbeat"]):
    def record_done(self, name: str) -> None:
        """Record work as done, at most every ten seconds; at once if the clock was set back."""
        if not timedelta() <= self.time_since(name) < timedelta(seconds=10):
            self.update_or_create(name=name, defaults={"at": timezone.now()})

    def time_since(self, name: str) -> timedelta:
        """Time since the work was last done; timedelta.max if never."""
        at = self.filter(name=name).values_list("at", flat=True).first()
        return timezone.now() - at if at else timedelta.max


class Heartbeat(models.Model):
    """A row for `round` and one for each job, shared by all workers."""

    name = models.CharField(max_length=10, primary_key=True)  # ROUND, or the job's
    at = models.DateTimeField()

    objects = HeartbeatManager()

    class Meta:
        db_table = "mail_heartbeat"  # hosts of 2.2 use it as well

    def __str__(self) -> str:
        return f"{self.name}: {self.at}"
