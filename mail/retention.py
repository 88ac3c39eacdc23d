"""Deletes old data: calls the `prune` of every model that has one."""

from django.apps import apps
from django.core.management import call_command


def prune() -> dict[str, int]:
    """Delete what is no longer kept, in batches; returns the numbers by model."""
    call_command("clearsessions")  # of the admin site
    return {
        str(model._meta.verbose_name_plural): model._default_manager.prune()
        for model in apps.get_models()
        if hasattr(model._default_manager, "prune")
    }


def work_off() -> int:
    """Do a batch of the waiting work of each model with a `work_off`, besides mails; returns the
    number of processed rows."""
    managers = [model._default_manager for model in apps.get_models()]
    return sum(one.work_off() for one in managers if hasattr(one, "work_off"))
