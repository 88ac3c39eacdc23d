"""Deletes old data: calls the `prune_expired` of every model that has one."""

from django.apps import apps
from django.core.management import call_command


def prune_all() -> dict[str, int]:
    """Delete what is no longer kept, in batches; returns the numbers by model."""
    call_command("clearsessions")  # of the admin site
    return {
        str(model._meta.verbose_name_plural): model._default_manager.prune_expired()
        for model in apps.get_models()
        if hasattr(model._default_manager, "prune_expired")
    }


def process_backlog() -> int:
    """Do a batch of the waiting work of each model with a `process_backlog`, besides mails; returns
    the number of processed rows."""
    managers = [model._default_manager for model in apps.get_models()]
    return sum(one.process_backlog() for one in managers if hasattr(one, "process_backlog"))
