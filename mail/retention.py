"""What is deleted when is decided by each model's `prune`; this calls all of them."""

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.dispatch import receiver

from audit.pruning import batch_deleted
from mail.systemd import notify


@receiver(batch_deleted)
def show_life(**_: object) -> None:
    """Tell systemd after each batch that the worker is alive: pruning may take minutes."""
    notify("WATCHDOG=1")


def prune() -> dict[str, int]:
    """Delete all that is past its keeping time, in batches; how many of which. What goes wrong with
    one table is raised once the others are done; the loss of the database is, at once."""
    call_command("clearsessions")  # of the admin site
    deleted, problem = {}, None
    for model in apps.get_models():
        if not hasattr(model._default_manager, "prune"):
            continue
        try:
            deleted[str(model._meta.verbose_name_plural)] = model._default_manager.prune()
        except Exception as error:
            if not connection.is_usable():
                raise
            problem = error
    if problem is not None:
        raise problem
    return deleted


def work_off() -> int:
    """Do a little of what waits beside the mails: a batch of each model that has any (`work_off` on
    its manager); how many rows were dealt with."""
    managers = [model._default_manager for model in apps.get_models()]
    return sum(one.work_off() for one in managers if hasattr(one, "work_off"))
