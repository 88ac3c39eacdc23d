"""How models and their columns are called on the pages, in the reader's language.

Most of these names Django makes of the code's own: there is no text that could be marked. So all of
them are looked up by the English one; the models, and their migrations, stay as they are.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation import gettext_lazy


def speak(model: type[Model]) -> None:
    """Have the model, its columns and their help texts called as its reader's language does."""
    meta: Any = model._meta
    meta.verbose_name = looked_up(meta.verbose_name)
    meta.verbose_name_plural = looked_up(meta.verbose_name_plural)
    for column in (*meta.fields, *meta.many_to_many):
        column.verbose_name = looked_up(column.verbose_name)
        if column.help_text:
            column.help_text = looked_up(column.help_text)


def looked_up(name: Any) -> Any:
    with translation.override(None):
        return gettext_lazy(str(name))


class NeutralLogAdmin(admin.ModelAdmin):
    """What the site puts before every ModelAdmin: whatever the caller reads, the log and the audit
    trail call a row by the same name, by which an erasure finds it."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        with translation.override(None):
            return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        with translation.override(None):
            return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        with translation.override(None):
            return super().log_deletions(request, queryset)
