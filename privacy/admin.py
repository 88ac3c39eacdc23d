"""Erasures in the back office, under way and done."""

from django.contrib import admin

from base.admin import ReadOnlyAdmin
from privacy.models import Erasure


@admin.register(Erasure)
class ErasureAdmin(ReadOnlyAdmin):
    list_display = ["pseudonym", "erased_at", "done_at"]
    fields = ["pseudonym", "erased_at", "done_at"]
    search_fields = ["pseudonym__startswith"]
    empty_value_display = "being erased"  # while `done_at` is empty
