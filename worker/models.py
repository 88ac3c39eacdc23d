"""Heartbeat: when the worker last finished a round or a mail, and when each of its jobs last
ran."""

from datetime import timedelta

from django.db import models
from django.utils import timezone

ROUND = "round"  # the name of the heartbeat of rounds
# Without a heartbeat for so long, the worker counts as stopped. Sending one mail through a server
# that hangs takes less.
WORKER_SILENT_AFTER = timedelta(minutes=10)


class HeartbeatManager(models.Manager["Heartbeat"]):
    def record_done(self, name: str) -> None:
        """Record that the work of this name is done. To spare writes, does nothing within ten
        seconds of the last record."""
        if abs(self.time_since(name)) >= timedelta(seconds=10):
            self.update_or_create(name=name, defaults={"at": timezone.now()})

    def time_since(self, name: str) -> timedelta:
        """The time since the work of this name was last done, by any worker: timedelta.max if it
        never was, negative if the clock was set back since."""
        at = self.filter(name=name).values_list("at", flat=True).first()
        return timezone.now() - at if at else timedelta.max


class Heartbeat(models.Model):
    """When work was last done: one row for rounds and one for each job, shared by all workers."""

    name = models.CharField(max_length=10, primary_key=True)  # ROUND, or the job's name
    at = models.DateTimeField()

    objects = HeartbeatManager()

    class Meta:
        db_table = "mail_heartbeat"  # the name that hosts of 2.2 use

    def __str__(self) -> str:
        return f"{self.name}: {self.at}"
