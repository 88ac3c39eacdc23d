"""The registry of jobs: what the worker does in its rounds besides sending mail.

Apps register their jobs in AppConfig.ready; `worker.apps` does it for the apps below this one.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

from django.core.management import call_command

EACH_ROUND, HOURLY = timedelta(), timedelta(hours=1)


class Job(NamedTuple):
    """Work that the worker repeats."""

    name: str  # at most 10 characters, the name of its heartbeat as well
    run: Callable[[], int]  # processes one batch; returns the number of rows, 0 without work
    every: timedelta  # EACH_ROUND, or the time between two runs


jobs_by_name: dict[str, Job] = {}  # by name
pruned_models: list[Any] = []  # by the job "prune"


def register(name: str, run: Callable[[], int], every: timedelta = EACH_ROUND) -> None:
    """Let each worker run a job in each round, or once in the period `every`. A job of each round
    that had work is run again without a pause. Several workers may run a job at the same time."""
    jobs_by_name[name] = Job(name, run, every)


def register_pruning(*models: Any) -> None:
    """Let the job "prune" call `prune_expired` of these models' default managers."""
    pruned_models.extend(models)


def prune_all() -> dict[str, int]:
    """Delete old rows of the models of `register_pruning`, and expired sessions of the admin site.
    Returns how many rows of each model were deleted, by its plural name."""
    call_command("clearsessions")
    return {
        str(model._meta.verbose_name_plural): model._default_manager.prune_expired()
        for model in pruned_models
    }
