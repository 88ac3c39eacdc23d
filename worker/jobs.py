"""The registry of jobs: what the worker does in its rounds besides sending mail.

Apps register their jobs in AppConfig.ready; `worker.apps` does it for the apps below this one.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from django.core.management import call_command

EACH_ROUND, HOURLY = timedelta(), timedelta(hours=1)


class Job(NamedTuple):
    name: str  # of its heartbeat, at most 10 characters
    run: Callable[[], int]  # does one batch; returns the number of rows, 0 without work
    every: timedelta


registered: dict[str, Job] = {}  # by name
pruned_models: list[Any] = []


def register(name: str, run: Callable[[], int], every: timedelta = EACH_ROUND) -> None:
    """Let the worker run a job. A job of each round that had work is run again at once. Several
    workers may run a job at the same time."""
    registered[name] = Job(name, run, every)


def register_pruning(*models: Any) -> None:
    """Let the job "prune" call `prune_expired` of the managers of these models."""
    pruned_models.extend(models)


def prune_all() -> dict[str, int]:
    """Delete what is no longer kept, in batches; returns the numbers by model."""
    call_command("clearsessions")  # of the admin site
    managers = [model._default_manager for model in pruned_models]
    return {str(it.model._meta.verbose_name_plural): it.prune_expired() for it in managers}


def process_backlog() -> int:
    """Do a batch of each job of each round; returns the number of processed rows."""
    return sum(job.run() for job in registered.values() if job.every == EACH_ROUND)
