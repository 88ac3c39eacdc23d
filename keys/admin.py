"""The signing keys in the back office. `manage.py rotatekey` and `withdrawkey` change them."""

from typing import Any

from django.contrib import admin
from django.utils import timezone
from django.utils.timesince import timesince

from base.admin import ReadOnlyAdmin, badge
from keys.cache import signing_keys
from keys.models import SigningKey

KEY_STATE_COLOURS = {"signing": "good", "waiting": "wait", "unreadable": "bad"}


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnlyAdmin):
    list_display = ["kid", "state", "signs_from", "age"]
    fields = ["kid", "state", "signs_from", "age"]
    readonly_fields = ["state", "age"]

    def state(self, key: SigningKey) -> str:
        """What this process does with the key. A key that it has not read yet is "unreadable"."""
        state = signing_keys.keys.get(key.kid, key).state
        return badge(state, KEY_STATE_COLOURS.get(state, ""))

    def age(self, key: SigningKey) -> Any:
        return timesince(key.signs_from) if key.signs_from < timezone.now() else ""
