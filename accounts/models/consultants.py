"""The consultant profiles that users may be linked to."""

import uuid

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

import audit
from accounts.models.companies import Account, NamedModel
from accounts.validators import validate_name
from audit.actors import Actor
from audit.models import Kind


class Consultant(NamedModel):
    """A consultant's profile. A linked user can use the self-service areas."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(
        Account, models.CASCADE, related_name="consultants", verbose_name="company"
    )
    name = models.CharField(max_length=200, blank=True, validators=[validate_name])
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="consultant"
    )
    manager = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="managed_consultants",
    )

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name or str(self.id)

    @property
    def is_protected(self) -> bool:
        """Whether only a superuser may change the profile: its company, user or manager is one on
        which only a superuser may act."""
        return any(row and row.is_protected for row in (self.account, self.user, self.manager))

    def clean(self) -> None:
        for name in ("user", "manager"):
            user = getattr(self, name)
            if user is not None and user.account_id != self.account_id:
                raise ValidationError({name: _("Belongs to another company.")})


def record_links(actor: Actor, former: Consultant | None, profile: Consultant | None) -> None:
    """Record, in the transaction of the change, which users have lost or got a profile or its
    management: readers of events keep users' `consultant_id` and `is_manager`. `former` is the
    profile before the change, None if it is new; `profile` after it, None if it was deleted."""
    for name in ("user", "manager"):
        before, after = getattr(former, name, None), getattr(profile, name, None)
        if before != after:
            for user in filter(None, (before, after)):
                audit.record_row(Kind.ADMIN_CHANGED, user, actor=actor, fields=["Consultant"])
