"""What is forgotten when is said by each model's `prune`; this is where all of them are called."""

from django.apps import apps


def prune() -> dict[str, int]:
    """Delete all that is past its keeping time, in batches; how many of which."""
    return {
        str(model._meta.verbose_name_plural): model._default_manager.prune()
        for model in apps.get_models()
        if hasattr(model._default_manager, "prune")
    }
