"""What is forgotten when is said by each model's `prune`; this is where all of them are called."""

from django.apps import apps
from django.db import connection


def prune() -> dict[str, int]:
    """Delete all that is past its keeping time, in batches; how many of which. What goes wrong with
    one table is raised once the others are done; the loss of the database is, at once."""
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
