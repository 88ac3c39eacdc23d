"""Companies, their users, and the consultant profiles that users may be linked to."""

import functools
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self
from uuid import UUID

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connections, models, transaction
from django.db.models import Exists, F, OuterRef, Q, Value
from django.db.models.functions import Greatest, Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.functional import cached_property

from accounts.exceptions import EmailTaken, LastAdmin
from accounts.signals import stopped_inviting
from accounts.validators import validate_name
from audit import trail
from audit.models import Kind
from mail.emails import CanonicalEmailField
from mail.notices import Notice
from mail.outbox import OutgoingMail
from throttling.models import Lockout

OPERATORS = "Operators"

# Every signed-in request and every log-in asks this. The ORM takes 0.7 ms of CPU to make the same
# SQL each time, half of all that `GET /auth/me` takes, and raw() 0.08 ms more to make the user.
PERSON = """
SELECT {columns}, profile.id,
    EXISTS (SELECT 1 FROM accounts_consultant WHERE manager_id = person.id){lock}
FROM {source} LEFT JOIN accounts_consultant profile ON profile.user_id = person.id
WHERE {conditions}
"""
PEOPLE = "accounts_user person"
LOCKED = """EXISTS (SELECT 1 FROM throttling_lockout
    WHERE email = person.email AND device = '' AND locked_until > %(now)s)"""
# One row for each address: with its user, if it has one and is not locked. OFFSET and CASE have
# PostgreSQL look at the lock first, and at no user of an address that is locked.
ADDRESS = f"""(SELECT {LOCKED.replace("person.email", "%(email)s")} AS locked OFFSET 0) address
    LEFT JOIN accounts_user person
    ON person.email = CASE WHEN NOT address.locked THEN %(email)s END"""


class AccountManager(models.Manager["Account"]):
    def lock(self, pk: UUID) -> None:
        """Hold a company's row until the transaction ends.

        Rules over several rows of a company (one admin is left, an address is invited once) are
        checked under it, by one request after another. Where rows cannot be locked (SQLite),
        transactions are IMMEDIATE and exclude each other anyway.
        """
        self.select_for_update(no_key=True).get(pk=pk)  # no_key: new users need not wait


class Account(models.Model):
    """A company."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, validators=[validate_name])
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AccountManager()

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    ADMIN = "admin", "admin"
    MEMBER = "member", "member"


def present_version() -> int:
    """The present microsecond of the epoch: what a token version is raised to at least.

    A database that was restored from a backup has forgotten the versions since. Adding one would
    come to one of those again, and make the tokens good that carry it.
    """
    return time.time_ns() // 1000


def next_token_version() -> Greatest:
    """For an UPDATE of users: a token version that no token carries yet."""
    version: models.Field[int, int] = models.PositiveBigIntegerField()
    present = Value(present_version(), output_field=version)
    return Greatest(F("token_version") + 1, present, output_field=version)


class UserQuerySet(models.QuerySet["User"]):
    def with_profile(self) -> Self:
        """Users with `profile_id` and `manages`, in one query for them all."""
        managed = Consultant.objects.filter(manager=OuterRef("pk"))
        return self.annotate(profile_id=F("consultant__id"), manages=Exists(managed))

    def active_admins(self) -> Self:
        return self.filter(role=Role.ADMIN, is_active=True)

    def search(self, text: str) -> Self:
        """Users in whose first name, last name or address each word of the text occurs."""
        found = self
        for word in dict.fromkeys(text.split()):
            found = found.filter(
                Q(first_name__icontains=word)
                | Q(last_name__icontains=word)
                | Q(email__icontains=word)
            )
        return found

    def sign_out(self) -> int:
        """End every session of these users: no token issued so far works any more."""
        return self.update(token_version=next_token_version())


def user_filter_for(token: Mapping[str, Any]) -> dict[str, Any]:
    """Whom a token's claims name, while that user is active and has not signed out since."""
    return {"id": token["sub"], "token_version": token["token_version"], "is_active": True}


class UserManager(BaseUserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]
    use_in_migrations = False

    def for_access_token(self, token: Mapping[str, Any]) -> "User | None":
        """The active user whom a token's claims name, `with_profile`, or None; None too when the
        sessions were ended since the token was issued."""
        return self.person(**user_filter_for(token))

    def for_refresh_token(self, token: Mapping[str, Any]) -> "User | None":
        """The same, with `locked` in the same query."""
        return self.person(LOCKED, **user_filter_for(token))

    def by_email(self, email: str) -> "User | None":
        """The user of a canonical address, `with_profile`, or None."""
        return self.person(email=email)

    def for_log_in(self, email: str) -> "tuple[User | None, bool]":
        """The user of a canonical address, `with_profile`, if it has one and is not locked to
        strangers, and whether it is locked: by one statement, whatever address it is."""
        if connections[self.db].vendor != "postgresql":
            locked = Lockout.objects.is_locked(email)
            return None if locked else self.by_email(email), locked
        row = self.row(self.statement(ADDRESS, "address.locked", ("TRUE",)), {"email": email})
        return self.user_from_row(row) if row[0] is not None else None, row[-1]

    def person(self, locked: str = "", **conditions: Any) -> "User | None":
        """The one user whose columns have these values: by PERSON where PostgreSQL gives them as
        Django wants them; the embedded database is asked by the ORM."""
        if connections[self.db].vendor != "postgresql":
            found: User | None = self.with_profile().filter(**conditions).first()
            return found
        where = tuple(f"person.{name} = %({name})s" for name in conditions)
        row = self.row(self.statement(PEOPLE, locked, where), conditions)
        return self.user_from_row(row) if row else None

    @functools.cache  # noqa: B019  (a manager lives as long as its model)
    def statement(self, source: str, locked: str, conditions: tuple[str, ...]) -> str:
        """PERSON for this source and these conditions."""
        return PERSON.format(
            columns=", ".join(f"person.{name}" for name in self.columns),
            lock=f", {locked}" if locked else "",
            source=source,
            conditions=" AND ".join(conditions),
        )

    def row(self, statement: str, values: dict[str, Any]) -> Any:
        with connections[self.db].cursor() as cursor:
            cursor.execute(statement, values | {"now": timezone.now()})
            return cursor.fetchone()

    def user_from_row(self, row: tuple[Any, ...]) -> "User":
        """The user of a row of PERSON, with what stands in it beside the columns."""
        count = len(self.columns)
        user: User = self.model.from_db(self.db, self.columns, row[:count])
        vars(user).update(zip(["profile_id", "manages", "locked"], row[count:], strict=False))
        return user

    @cached_property
    def columns(self) -> list[str]:
        return [field.attname for field in self.model._meta.concrete_fields]

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """A user with a hashed password; with None, one who cannot log in yet."""
        user: User = self.model(email=email, **fields)
        user.set_password(password)
        user.save(using=self._db, force_insert=True)
        return user

    def register(self, **fields: Any) -> "User":
        """A user who has shown that the address is theirs; `password` is a hash.

        In the transaction of what shows it. Raises EmailTaken when the address has a user: the
        unique index decides between requests that race.
        """
        try:
            user: User = self.create(**fields)
        except IntegrityError:
            raise EmailTaken from None
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """An operator, of the company that is named Operators and made when first needed."""
        if "account" not in fields:
            operators = Account.objects.order_by("created_at").filter(name=OPERATORS).first()
            fields["account"] = operators or Account.objects.create(name=OPERATORS)
        fields = {"role": Role.ADMIN, "is_staff": True, "is_superuser": True} | fields
        return self.create_user(email, password, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """A person of one company, who signs in with an e-mail address and a password."""

    last_login = None  # the audit trail has it; a second write at each log-in would tell no more

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(Account, models.PROTECT, related_name="users")
    email = CanonicalEmailField("e-mail address", unique=True)
    first_name = models.CharField(max_length=150, blank=True, validators=[validate_name])
    last_name = models.CharField(max_length=150, blank=True, validators=[validate_name])
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, default="en")
    is_active = models.BooleanField(
        "active", default=True, help_text="An inactive user cannot sign in; tokens stop working."
    )
    is_staff = models.BooleanField(
        "staff", default=False, help_text="May enter the admin site, with the permissions given."
    )
    token_version = models.PositiveBigIntegerField(
        default=1, editable=False, help_text="Raised to end every session at once."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    class Meta:
        ordering = ["last_name", "first_name", "id"]
        constraints = [
            # With the unique index this makes addresses unique without regard to case, by whatever
            # the row is written. Through the model it always holds: the field lowers addresses.
            models.CheckConstraint(condition=Q(email=Lower("email")), name="user_email_lower"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="user_role_known"),
        ]
        indexes = [
            # A company's users in the order in which they are listed.
            models.Index(
                fields=["account", "last_name", "first_name", "id"], name="user_of_company"
            ),
        ]

    def __str__(self) -> str:
        return str(self.email)

    @cached_property
    def profile_id(self) -> UUID | None:
        """The id of the consultant profile that is linked to the user, if one is."""
        profiles = Consultant.objects.filter(user=self.pk)
        return profiles.values_list("pk", flat=True).first()

    @cached_property
    def manages(self) -> bool:
        """Whether the user manages at least one consultant."""
        return Consultant.objects.filter(manager=self.pk).exists()

    @cached_property
    def locked(self) -> bool:
        """Whether the user's address is locked for strangers."""
        return Lockout.objects.is_locked(self.email)

    def set_password(self, raw_password: str | None) -> None:
        """Set a new password, which ends every session that an older one began."""
        super().set_password(raw_password)
        self.token_version = max(self.token_version + 1, present_version())

    def sign_out(self, actor: "User | None" = None) -> None:
        """End every session of this user; `actor` asked for it."""
        with transaction.atomic():
            User.objects.filter(pk=self.pk).sign_out()
            trail.record(
                Kind.LOGOUT_EVERYWHERE, actor=actor, subject=self.email, account_id=self.account_id
            )

    def get_session_auth_hash(self) -> str:
        """Ends the admin site's sessions with all others: their hash holds the token version."""
        return self.session_auth_hash()

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return (self.session_auth_hash(secret) for secret in settings.SECRET_KEY_FALLBACKS)

    def session_auth_hash(self, secret: str | bytes | None = None) -> str:
        what = f"{self.password}:{self.token_version}"
        return salted_hmac("accounts.session", what, secret, algorithm="sha256").hexdigest()

    def get_full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def may_invite(self) -> bool:
        """Whether invitations that the user has sent still hold."""
        return self.is_active and (self.role == Role.ADMIN or self.is_superuser)

    def update_role_or_active(self, actor: "User | None", **changes: Any) -> list[str]:
        """Change `role`, `is_active` or both; deactivating ends every session for good.

        Whoever may invite no longer has their open invitations revoked: to whom those were is what
        is returned. The user is mailed what was done, and so are the other admins where something
        was revoked. Without an actor: a command.

        Raises LastAdmin, and changes nothing, when the company would be without an active admin.
        """
        if not changes:
            return []
        if changes.get("is_active") is False:
            changes["token_version"] = next_token_version()
        with transaction.atomic():
            Account.objects.lock(self.account_id)
            before = User.objects.get(pk=self.pk)
            User.objects.filter(pk=self.pk).update(**changes)
            if not User.objects.filter(account=self.account_id).active_admins().exists():
                raise LastAdmin
            self.refresh_from_db(fields=list(changes))
            revoked = self.revoke_sent(actor) if before.may_invite and not self.may_invite else []
            self.tell_of_change(before, actor)
            self.tell_admins(revoked, actor)
        return revoked

    def revoke_sent(self, actor: "User | None") -> list[str]:
        """Have the open invitations revoked that the user has sent; to whom they were."""
        answers = stopped_inviting.send(User, user=self, actor=actor)
        return [email for _, emails in answers for email in emails or []]

    def tell_of_change(self, before: "User", actor: "User | None") -> None:
        """Mail the user a new role, or the deactivation."""
        by = {"by": self.name_of(actor)}
        if before.role != self.role:
            self.tell("role_changed", role=self.role, **by)
        if before.is_active and not self.is_active:
            self.tell("deactivated", **by)

    def tell_admins(self, revoked: list[str], actor: "User | None") -> None:
        """Mail the company's other active admins which invitations of this user were revoked."""
        if revoked:
            admins = User.objects.filter(account=self.account_id).active_admins()
            for admin in admins.exclude(pk=self.pk):
                names = {"name": self.get_full_name() or self.email, "by": self.name_of(actor)}
                admin.tell("invitations_revoked", emails=revoked, **names)

    def tell(self, kind: str, **context: Any) -> None:
        """Mail the user a notice, in the transaction of what it tells of."""
        OutgoingMail.objects.tell(Notice(kind, self.email, self.language, context))

    def name_of(self, actor: "User | None") -> str:
        """The actor, as a mail to this user names them; "" for the operators."""
        if actor is None or actor.account_id != self.account_id:
            return ""
        return actor.get_full_name() or str(actor.email)

    @classmethod
    def normalize_username(cls, username: str) -> str:
        return username  # the field makes addresses canonical; NFKC could make two people's one


class Consultant(models.Model):
    """A consultant's profile; its user, if linked, gets the self-service areas."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(Account, models.CASCADE, related_name="consultants")
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

    def clean(self) -> None:
        for name in ("user", "manager"):
            person = getattr(self, name)
            if person is not None and person.account_id != self.account_id:
                raise ValidationError({name: "Belongs to another company."})
