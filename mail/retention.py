"""What is deleted when is decided by each model's `prune`; this calls all of them."""

from django.apps import apps
from django.core.management import call_command


def prune() -> dict[str, int]:
    """Delete all that is past its keeping time, in batches; how many of which."""
    call_command("clearsessions")  # of the admin site
    return {
        str(model._meta.verbose_name_plural): model._default_manager.prune()
        for model in apps.get_models()
        if hasattr(model._default_manager, "prune")
    }


def work_off() -> int:
    """Do a little of what waits beside the mails: a batch of each model that has any (`work_off` on
    its manager); how many rows were dealt with."""
    managers = [model._default_manager for model in apps.get_models()]
    return sum(one.work_off() for one in managers if hasattr(one, "work_off"))
