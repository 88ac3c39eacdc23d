"""Erasures in the back office: which are under way, and which are done."""

from django.contrib import admin

from audit.admin import ReadOnlyAdmin
from privacy.models import Erasure


@admin.register(Erasure)
class ErasureAdmin(ReadOnlyAdmin):
    list_display = ["pseudonym", "state", "erased_at", "done_at"]
    fields = ["pseudonym", "erased_at", "done_at"]
    search_fields = ["pseudonym__startswith"]

    @admin.display(description="state")
    def state(self, erasure: Erasure) -> str:
        return "erased" if erasure.done_at else "being erased"
