"""Companies, and the one among them that the operators are of."""

import uuid
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.errors import NoFactorOfOnesOwn
from accounts.validators import validate_company_name, validate_name
from audit import trail
from audit.models import Kind

OPERATORS = "Operators"


class AccountManager(models.Manager["Account"]):
    def lock(self, pk: UUID) -> "Account":
        """A company, whose row is held until the transaction ends.

        Rules over several rows of a company (one admin is left, an address is invited once) are
        checked under it, by one request after another. Where rows cannot be locked (SQLite),
        transactions are IMMEDIATE and exclude each other anyway.
        """
        return self.select_for_update(no_key=True).get(pk=pk)  # no_key: new users need not wait

    def operators(self) -> "Account":
        """The operators' company, made when first needed."""
        return self.get_or_create(is_operators=True, defaults={"name": OPERATORS})[0]


class SecondFactor(models.TextChoices):
    """Whether a company's people need more than a password."""

    OPTIONAL = "optional", "optional"
    REQUIRED = "required", "required"


class Account(models.Model):
    """A company."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, validators=[validate_name])
    second_factor = models.CharField(
        max_length=10,
        choices=SecondFactor.choices,
        default=SecondFactor.OPTIONAL,
        db_default=SecondFactor.OPTIONAL,
        editable=False,
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    is_operators = models.BooleanField(  # what marks it: names are free to choose
        "the operators' company", default=False, db_default=False, editable=False
    )

    objects = AccountManager()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_operators"], condition=Q(is_operators=True), name="account_operators"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **options: Any) -> None:
        self.clean()  # by whatever way the name comes
        super().save(*args, **options)

    def clean(self) -> None:
        if not self.is_operators:
            try:
                validate_company_name(self.name)
            except ValidationError as error:
                raise ValidationError({"name": error}) from None

    @property
    def is_protected(self) -> bool:
        return self.is_operators

    def rename(self, actor: trail.Actor, name: str) -> None:
        """Give the company another name. Raises PermissionDenied where the actor may not act on it,
        or ValidationError for a name that it may not have."""
        actor.check_reach(self)
        old, self.name = self.name, name
        self.clean_fields(exclude=["id", "created_at"])
        with transaction.atomic():
            self.save(update_fields=["name"])
            if name != old:
                trail.record(Kind.COMPANY_CHANGED, actor=actor, old=old, name=name)

    def change_second_factor(self, actor: trail.Actor, wanted: str) -> None:
        """Require a second factor of everybody, or leave it to them. To require it ends the
        sessions, and with them the assistants' grants, of those without one: they set one up at
        their next sign-in. Raises NoFactorOfOnesOwn, and changes nothing, where the actor has none.

        Acceptances hold the company's row, too: who comes in at the same moment is either signed
        out here, or is told to set one up.
        """
        with transaction.atomic():
            actor.check_reach(Account.objects.lock(self.pk))
            with_factor = self.users.filter(has_second_factor=True)
            if wanted == SecondFactor.REQUIRED and not with_factor.filter(pk=actor.pk).exists():
                raise NoFactorOfOnesOwn
            others = Account.objects.filter(pk=self.pk).exclude(second_factor=wanted)
            if others.update(second_factor=wanted):
                if wanted == SecondFactor.REQUIRED:
                    self.users.filter(has_second_factor=False).sign_out()
                trail.record(Kind.COMPANY_CHANGED, actor=actor, second_factor=wanted)
        self.second_factor = wanted
