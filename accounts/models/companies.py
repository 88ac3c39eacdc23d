"""Companies, one of which is the operators' company."""

import uuid
from collections.abc import Collection
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from rest_framework.exceptions import NotFound

import audit
from accounts.errors import OwnSecondFactorMissing
from accounts.validators import validate_company_name, validate_name, validate_time_zone
from audit.actors import Actor
from audit.models import Kind
from mail.budget import Budget
from mail.notices import Notice
from mail.outbox import OutgoingMail


class AccountManager(models.Manager["Account"]):
    def lock(self, pk: uuid.UUID) -> "Account":
        """The company, with its row locked until the caller's transaction ends: one request at a
        time checks a rule about several rows, such as that one admin must stay. Raises NotFound
        (404) if the company was deleted."""
        # no_key: new users need not wait
        account = self.select_for_update(no_key=True).filter(pk=pk).first()
        if account is None:
            raise NotFound
        return account

    def get_or_create_operators(self) -> "Account":
        """The operators' company, created by the first call."""
        return self.get_or_create(is_operators=True, defaults={"name": "Operators"})[0]


class SecondFactor(models.TextChoices):
    """Whether a company requires a second factor of its users."""

    OPTIONAL = "optional", "optional"
    REQUIRED = "required", "required"


class NamedModel(models.Model):
    """A model whose stored names stay valid when the rules for names become stricter."""

    class Meta:
        abstract = True

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Validate the fields, except those in `exclude` and names equal to the stored ones. Raises
        ValidationError."""
        names = [field.name for field in self._meta.fields if validate_name in field.validators]
        stored_names = type(self)._default_manager.filter(pk=self.pk).values(*names).first() or {}
        unchanged = {name for name, text in stored_names.items() if text == getattr(self, name)}
        super().clean_fields(unchanged.union(exclude or ()))


class Account(NamedModel):
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
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        validators=[validate_time_zone],
        help_text="Of times in mails, such as Europe/Berlin. Empty for UTC.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    is_operators = models.BooleanField(  # marks the company, whatever its name
        "the operators' company", default=False, db_default=False, editable=False
    )

    objects = AccountManager()

    class Meta:
        ordering = ["name", "id"]
        verbose_name, verbose_name_plural = "company", "companies"
        constraints = [
            models.UniqueConstraint(
                fields=["is_operators"], condition=Q(is_operators=True), name="account_operators"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raise ValidationError if a customer's company has a name that looks like "Operators",
        also if it is the stored name."""
        if not self.is_operators:
            try:
                validate_company_name(self.name)
            except ValidationError as error:
                raise ValidationError({"name": error}) from None

    @property
    def account_id(self) -> uuid.UUID:
        return self.pk  # an event about the company belongs to its own audit log

    @property
    def is_protected(self) -> bool:
        return self.is_operators

    def change(self, actor: Actor, **changes: str) -> None:
        """Store another `name` or `time_zone`, and record what differs. The caller has validated
        the values, and checked the actor's role and company. Raises NotFound if the company was
        deleted, and Django's PermissionDenied for the operators' company if the actor is no
        superuser."""
        actor.require_can_manage(self)
        with transaction.atomic():
            old = Account.objects.lock(self.pk)
            new = {name: value for name, value in changes.items() if getattr(old, name) != value}
            Account.objects.filter(pk=self.pk).update(**new)
            if "name" in new:
                kind, name = Kind.COMPANY_CHANGED, new["name"]
                audit.record(kind, actor=actor, old=old.name, name=name)
            if "time_zone" in new:
                audit.record(Kind.COMPANY_CHANGED, actor=actor, time_zone=new["time_zone"])
        vars(self).update(changes)

    def notify_of_sign_in_change(self, change: str, actor: Actor, **context: object) -> None:
        """Mail every active admin that a rule for signing in has changed, in the transaction of the
        change. `change`, such as "required" or "keeps", chooses the sentences of
        templates/emails/sso_changed.txt, which show the context's `issuer`, `domain` or `name`."""
        users: Any = self.users
        for admin in users.active_admins():
            admin.send_notice("sso_changed", change=change, by=actor.name_for(admin), **context)

    def change_second_factor(self, actor: Actor, policy: str) -> None:
        """Set whether the company requires a second factor (a value of SecondFactor), and record it
        if that changes. The caller has checked the actor's role and company.

        Requiring it ends the sessions of users without a factor. An accepted invitation also locks
        the company: a user who joins meanwhile is signed out here or asked for a factor there.

        Raises NotFound if the company was deleted, Django's PermissionDenied for the operators'
        company if the actor is no superuser, and OwnSecondFactorMissing if an actor who is no user
        of the company, or has no factor, sets REQUIRED."""
        is_required = policy == SecondFactor.REQUIRED
        with transaction.atomic():
            actor.require_can_manage(Account.objects.lock(self.pk))
            if is_required and not self.users.filter(pk=actor.pk, has_second_factor=True).exists():
                raise OwnSecondFactorMissing
            with_other_policy = Account.objects.filter(pk=self.pk).exclude(second_factor=policy)
            if with_other_policy.update(second_factor=policy):
                if is_required:
                    self.sign_out_without_factor(actor)
                audit.record(Kind.COMPANY_CHANGED, actor=actor, second_factor=policy)
        self.second_factor = policy

    def sign_out_without_factor(self, actor: Actor) -> None:
        """End the sessions of the company's users without a second factor, in the transaction that
        begins to require one, except those who must use the provider and those whom the actor can't
        manage. The active ones are mailed the reason, for three such changes in a day at most."""
        users: Any = self.users.filter(has_second_factor=False).with_provider_rules()
        without_factor = users.filter(must_use_provider=False).manageable_by(actor)
        without_factor.sign_out()
        if Budget.notices_of_rule(self.pk).spend():
            notices = (
                Notice(
                    "factor_required",
                    user.email,
                    user.language,
                    {"by": actor.name_for(user), "only_admin": user.is_only_admin},
                )
                for user in without_factor.filter(is_active=True)
            )
            OutgoingMail.objects.queue_notices(notices)
