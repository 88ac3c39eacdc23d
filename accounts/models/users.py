"""Users, and the rules about who may change them and how. docs/users.md lists how users come, sign
in and leave."""

import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Self
from uuid import UUID

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Exists, F, OuterRef, Q, Value
from django.db.models.functions import Greatest, Lower
from django.dispatch import Signal
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

import audit
from accounts import providers
from accounts.errors import CannotKeepPassword, EmailTaken, LastAdmin
from accounts.models.companies import Account, NamedModel, SecondFactor
from accounts.models.consultants import Consultant
from accounts.names import SearchKey, SortKey
from accounts.validators import validate_name
from api.errors import refresh_or_404
from audit.actors import Actor
from audit.models import AuditEvent, Kind
from audit.pseudonyms import is_pseudonym
from base.compiled import Finder, Slot
from base.emails import CanonicalEmailField, search_words
from base.sealed import mac_of
from mail.links import EmailedLink
from mail.notices import Notice
from mail.outbox import OutgoingMail
from throttling.models import Lockout

CALLER_DETAIL = {"claims", "first_address"}  # members of an event's detail that tell of the caller

# Sent when `actor` takes from `user` the right to invite. Receivers revoke the user's open
# invitations, and return the invited addresses.
stopped_inviting = Signal()


class Role(models.TextChoices):
    ADMIN = "admin", _("admin")
    MEMBER = "member", _("member")


# The condition of `User.is_protected`. Its subquery lets an UPDATE check the current row.
IS_PROTECTED = Q(is_staff=True) | Q(is_superuser=True)
IS_PROTECTED |= Q(account__in=Account.objects.filter(is_operators=True))
# Admins who may sign in by password although their company requires its provider.
IS_BREAK_GLASS_ADMIN = Q(role=Role.ADMIN, keeps_password=True, has_second_factor=True)


def version_by_clock() -> int:
    """The lowest value to which a token version is raised: microseconds since the epoch. Adding 1
    alone could reach a version that was in use before a restore from a backup."""
    return time.time_ns() // 1000


def next_token_version() -> Greatest:
    """An expression for an UPDATE of users: a token version that ends all sessions."""
    field: models.Field[int, int] = models.PositiveBigIntegerField()
    by_clock = Value(version_by_clock(), output_field=field)
    return Greatest(F("token_version") + 1, by_clock, output_field=field)


LAST_NAME, FIRST_NAME = SortKey("last_name"), SortKey("first_name")
LAST_SIGN_IN = F("last_sign_in_at")
# The orders in which users are listed. Users who have never signed in come last in both directions.
ORDERS: dict[str, list[Any]] = {
    "name": [LAST_NAME, FIRST_NAME, "id"],
    "-name": [LAST_NAME.desc(), FIRST_NAME.desc(), "-id"],
    "last_sign_in": [LAST_SIGN_IN.asc(nulls_last=True), "id"],
    "-last_sign_in": [LAST_SIGN_IN.desc(nulls_last=True), "id"],
    "id": ["id"],
}


class UserQuerySet(models.QuerySet["User"]):
    def with_profile(self) -> Self:
        """Users annotated with `consultant_id` and `is_manager`."""
        managed = Consultant.objects.filter(manager=OuterRef("pk"))
        return self.annotate(consultant_id=F("consultant__id"), is_manager=Exists(managed))

    def with_provider_rules(self) -> Self:
        """Users annotated with `must_use_provider` and `provider_tag`."""
        return self.annotate(**providers.rules.annotations())

    def active_admins(self) -> Self:
        return self.filter(role=Role.ADMIN, is_active=True)

    def break_glass_admins(self) -> Self:
        """The active admins who can sign in by password even if the provider is required."""
        admins = self.filter(IS_BREAK_GLASS_ADMIN, is_active=True)
        return admins.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)

    def may_invite_to(self, account: Account) -> Self:
        """Those of these users who may invite to this company: active superusers, and unless it is
        the operators', its active admins."""
        inviters = Q(is_superuser=True)
        if not account.is_operators:
            inviters |= Q(role=Role.ADMIN, account=account)
        return self.filter(inviters, is_active=True)

    def manageable_by(self, actor: Actor) -> Self:
        """Those of these users whose protection does not keep the actor from acting on them
        (`Actor.can_manage`). An UPDATE with this filter checks the current row."""
        return self if actor.is_superuser else self.exclude(IS_PROTECTED)

    def search(self, text: str) -> Self:
        """Users of whom each of the text's `search_words` is part of the first name, the last name
        or the address, regardless of case, accents and the letters that `SearchKey` replaces. All
        users for a text without words."""
        users = self.alias(first_key=SearchKey("first_name"), last_key=SearchKey("last_name"))
        for word in search_words(text):
            key = SearchKey(Value(word))
            columns = "first_key", "last_key", "email"
            users = users.filter(reduce(or_, [Q((f"{name}__contains", key)) for name in columns]))
        return users

    def sign_out(self) -> int:
        """End all sessions and connected apps of these users; returns how many users. Records
        nothing."""
        return self.update(token_version=next_token_version())


def user_finder(condition: Q, **annotations: Any) -> "Finder[User]":
    """A function that returns the one user for whom the condition holds, or None, with these
    annotations, `with_profile` and `with_provider_rules`. Its keyword arguments are the values of
    the Slots in the condition and the annotations, by their names."""

    def make_query() -> UserQuerySet:
        users = User.objects.with_profile().with_provider_rules().annotate(**annotations)
        return users.filter(condition)

    return Finder(make_query)


IS_TOKEN_USER = Q(
    id=Slot("id", models.UUIDField()),
    token_version=Slot("token_version", models.BigIntegerField()),
    is_active=True,
)
IS_FACTOR_REQUIRED = Q(account__second_factor=SecondFactor.REQUIRED)
IS_ADDRESS_LOCKED = Exists(
    Lockout.objects.filter(
        email=OuterRef("email"), device="", locked_until__gt=Slot("now", models.DateTimeField())
    )
)


# Type checkers need a name for this base class.
QueryManager = models.Manager.from_queryset(UserQuerySet)


class UserManager(BaseUserManager["User"], QueryManager):
    use_in_migrations = False

    # The user, active or not, who has this canonical address.
    find_by_email = user_finder(
        Q(email=Slot("email", CanonicalEmailField())), company_requires_factor=IS_FACTOR_REQUIRED
    )
    # The active user of a token, unless the user's sessions were ended since it was issued.
    find_by_token = user_finder(IS_TOKEN_USER)
    # The same user, with `is_locked`: whether the address is locked at the time `now`.
    find_by_token_with_lock = user_finder(IS_TOKEN_USER, is_locked=IS_ADDRESS_LOCKED)

    def require_readable(self) -> None:
        """Raise `django.db.Error` if the table of users cannot be read; PostgreSQL waits for one
        second at most, also for a lock. Call it outside a transaction."""
        limit = {"postgresql": "SET LOCAL statement_timeout = 1000;"}.get(connection.vendor, "")
        with connection.cursor() as cursor:  # several statements at once are one transaction
            cursor.execute(" ".join([limit, "SELECT 1 FROM accounts_user LIMIT 1"]))

    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        """Store and return a new user, unvalidated; without a password the user can't sign in by
        one. `fields` must have the `account`. Raises IntegrityError if a user has the address."""
        user: User = self.model(email=email, **fields)
        user.set_password(password)
        user.save(using=self._db, force_insert=True)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> "User":
        """Store and return a new superuser by `create_user`, by default an admin of the operators'
        company. The values are not validated; without a password the user can't sign in by one.
        Raises IntegrityError if a user has the address."""
        if "account" not in fields:
            fields["account"] = Account.objects.get_or_create_operators()
        fields = {"role": Role.ADMIN, "is_staff": True, "is_superuser": True} | fields
        return self.create_user(email, password, **fields)


class User(Actor, NamedModel, AbstractBaseUser, PermissionsMixin):
    """A user, who belongs to one company and has an e-mail address that no other user has."""

    last_login = None  # replaced by `last_sign_in_at`, which every kind of sign-in writes

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(
        Account, models.PROTECT, related_name="users", verbose_name="company"
    )
    email = CanonicalEmailField("e-mail address", unique=True)
    first_name = models.CharField(max_length=150, blank=True, validators=[validate_name])
    last_name = models.CharField(max_length=150, blank=True, validators=[validate_name])
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, default="en")
    is_active = models.BooleanField(
        "active", default=True, help_text="Inactive users can't sign in; their tokens are invalid."
    )
    is_staff = models.BooleanField(
        "staff", default=False, help_text="Can enter the back office, with the permissions given."
    )
    token_version = models.PositiveBigIntegerField(
        default=1, editable=False, help_text="Raising it ends every session."
    )
    has_second_factor = models.BooleanField(
        default=False, db_default=False, editable=False, help_text="Maintained by signin.factors."
    )
    keeps_password = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="An admin who signs in by password even where the provider is required.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_sign_in_at = models.DateTimeField("last sign-in", null=True, editable=False)
    sign_in_mails = models.BooleanField(
        default=True,
        db_default=True,
        editable=False,
        help_text="Whether the first sign-in with a browser is mailed to the user.",
    )

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = UserManager()

    is_locked: bool  # only set by `find_by_token_with_lock`

    class Meta:
        ordering = ["last_name", "first_name", "id"]
        constraints = [
            # Together with the unique index: no two addresses differ in case only.
            models.CheckConstraint(condition=Q(email=Lower("email")), name="user_email_lower"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="user_role_known"),
        ]
        indexes = [
            # A company's users in their usual order.
            models.Index(
                fields=["account", "last_name", "first_name", "id"], name="user_of_company"
            ),
        ]

    def __str__(self) -> str:
        return str(self.email)

    @property
    def signed_out_at(self) -> datetime:
        """When the user's sessions were last ended: for most who never were signed out, when the
        user was created."""
        return datetime.fromtimestamp(self.token_version / 1_000_000, UTC)

    @property
    def is_protected(self) -> bool:
        """Whether only superusers and commands may act on the user."""
        return self.is_staff or self.is_superuser or self.account.is_operators

    @cached_property
    def consultant_id(self) -> UUID | None:
        profiles = Consultant.objects.filter(user=self.pk)
        return profiles.values_list("pk", flat=True).first()

    @cached_property
    def is_manager(self) -> bool:
        return Consultant.objects.filter(manager=self.pk).exists()

    @cached_property
    def company_requires_factor(self) -> bool:
        return bool(self.account.second_factor == SecondFactor.REQUIRED)

    @cached_property
    def must_use_provider(self) -> bool:
        """Whether the company requires the user to sign in at its provider."""
        return providers.rules.must_be_used_by(self)

    @property
    def may_sign_in_here(self) -> bool:
        """Whether the user is active, and may sign in without the company's provider."""
        return self.is_active and not self.must_use_provider

    @cached_property
    def provider_tag(self) -> str | None:
        """`ProviderRules.session_tag_of` the user's company."""
        return providers.rules.session_tag_of(self.account_id)

    def set_password(self, raw_password: str | None) -> None:
        """Set, without saving, a hash (None: an unusable one) and a token version that ends all
        sessions."""
        super().set_password(raw_password)
        self.token_version = max(self.token_version + 1, version_by_clock())

    def record_sign_in(self, kind: Kind, **detail: Any) -> None:
        """Store the time of a sign-in on the user's row, and then record an event of this kind.
        Without a transaction, too, a reader of the event finds the time."""
        User.objects.filter(pk=self.pk).update(last_sign_in_at=timezone.now())
        audit.record(kind, actor=self, **detail)

    def sign_out(self, actor: Actor) -> None:
        """End all sessions and connected apps of this user, and record that. The caller has checked
        the actor's role and company. Raises Django's PermissionDenied if the user was erased, or if
        the user is protected and the actor is neither the user nor a superuser."""
        users = User.objects.filter(pk=self.pk)
        if actor != self:
            users = users.manageable_by(actor)
        with transaction.atomic():
            if not users.sign_out():
                raise PermissionDenied
            audit.record(Kind.LOGOUT_EVERYWHERE, actor=actor, subject=self)

    def get_session_auth_hash(self, secret: str | None = None) -> str:
        """The hash in sessions of the admin site, under `secret`, by default SECRET_KEY. With the
        token version in it, these sessions end with the tokens."""
        return mac_of("accounts.session", f"{self.password}:{self.token_version}", secret).hex()

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return (self.get_session_auth_hash(secret) for secret in settings.SECRET_KEY_FALLBACKS)

    def get_full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def may_invite(self) -> bool:
        """Whether the user is an active admin or superuser. While this is false, invitations that
        the user has sent can't be accepted; `may_invite_to` has the rule for each company."""
        return self.is_active and (self.role == Role.ADMIN or self.is_superuser)

    def change_profile(self, actor: Actor, **changes: object) -> None:
        """Store new values of the user's names, `language` or `sign_in_mails`, which the caller has
        validated, and record which fields changed. Of parallel requests with the same values, only
        one records them. Nothing is stored if the user was erased."""
        new_values = self.changed_values(changes)
        with transaction.atomic():
            users = User.objects.filter(pk=self.pk).exclude(**new_values)
            if new_values and users.update(**new_values):
                names = sorted(new_values)
                audit.record(Kind.PROFILE_CHANGED, actor=actor, subject=self, fields=names)
        vars(self).update(changes)

    def register(self) -> None:
        """Store this new user, with a hashed password and a stored company, in the caller's
        transaction. Raises EmailTaken if a user has the address; the caller then rolls back."""
        try:
            self.save(force_insert=True)
        except IntegrityError:
            raise EmailTaken from None
        self.consultant_id, self.is_manager = None, False

    def update_role_or_active(
        self, actor: Actor, **changes: object
    ) -> tuple[dict[str, object], list[str]]:
        """Change `role`, `is_active` or `keeps_password`. Returns the changed fields with their new
        values, empty if nothing changed, and the addresses whose invitations were revoked. The
        caller has checked the actor's role and company.

        1. Lock the company, and read the user's present values.
        2. Change the user, if the actor can manage them. Deactivating a user ends all sessions.
        3. Check that an admin is left, and a break-glass admin if the provider is required.
        4. Record and mail each change.
        5. Revoke the invitations of a user who may no longer invite.

        Raises NotFound if the user or company is gone, Django's PermissionDenied if the user is
        protected and the actor no superuser, LastAdmin or LastBreakGlassAdmin if step 3 fails, and
        CannotKeepPassword if a user who is no admin with a password and a second factor is to begin
        to keep a password. Then the database is unchanged, but not this instance."""
        with transaction.atomic():
            Account.objects.lock(self.account_id)
            state = ["role", "is_active", "keeps_password", "has_second_factor", "password"]
            refresh_or_404(self, fields=state)
            new_values, could_invite = self.changed_values(changes), self.may_invite
            kept_password = self.keeps_password
            was_admin = self.is_active and self.role == Role.ADMIN
            if not new_values:
                actor.require_can_manage(self)
                return {}, []
            values: dict[str, Any] = dict(new_values)
            if new_values.get("is_active") is False:
                values["token_version"] = next_token_version()
            if not User.objects.filter(pk=self.pk).manageable_by(actor).update(**values):
                raise PermissionDenied
            admins = User.objects.filter(account=self.account_id).active_admins()
            if was_admin and not admins.exists():
                raise LastAdmin
            self.refresh_from_db(fields=[*values])
            self.check_break_glass(kept_password)
            for name in new_values:
                self.record_and_mail_change(actor, name)
            revoked = self.stop_inviting(actor) if could_invite and not self.may_invite else []
        return new_values, revoked

    def record_and_mail_change(self, actor: Actor, name: str) -> None:
        """Record, in the transaction of the change, that the actor has changed `name`: `role`,
        `is_active` or `keeps_password`. A mail about it goes to the user, about `keeps_password` to
        the company's active admins."""
        value = getattr(self, name)
        if name == "keeps_password":
            kind, change = Kind.KEEPS_PASSWORD, "keeps" if value else "gives up"
            full_name = self.get_full_name() or str(self.email)
            self.account.notify_of_sign_in_change(change, actor, name=full_name)
        else:
            kind, notice = Kind.ROLE_CHANGED, "role_changed"
            if name == "is_active" and value:
                kind, notice = Kind.ACTIVATED, "reactivated"
            elif name == "is_active":
                kind, notice = Kind.DEACTIVATED, "deactivated"
            self.send_notice(notice, role=self.role, by=actor.name_for(self))
        audit.record(kind, actor=actor, subject=self, **{name: value})

    def change_address(self, actor: Actor, email: str, *, undoes: bool = False) -> bool:
        """Give the user another address, a result of `new_email` or a former one of the user's, and
        record the change. Lockouts and open links of the old address end, except for undo links.
        Returns False and does nothing if the user has the address already. The caller has checked
        the link, or the actor's role and company. What else happens depends on the actor:

        - The user, by the link in the new mailbox: sessions go on, the new address gets a notice.
          EmailChange mails the old one a link that undoes this.
        - The user, by that link (`undoes`): all sessions end, even if the user has the address
          again by now. The restored address gets a notice.
        - Another actor: all sessions and links end, also links that undo an earlier change, since
          the user may have lost the old mailbox. Both addresses get a notice.

        Raises User.DoesNotExist if the user was erased, EmailTaken, and Django's PermissionDenied
        if another actor is no superuser and the user is protected. Then nothing is changed."""
        with transaction.atomic():
            self.refresh_from_db(from_queryset=User.objects.select_for_update())
            old, is_own = str(self.email), actor == self
            if email == old and not undoes:
                return False
            values: dict[str, Any] = {"email": email}
            if undoes or not is_own:
                values["token_version"] = next_token_version()
            if not is_own:
                actor.require_can_manage(self)
            try:
                User.objects.filter(pk=self.pk).update(**values)
            except IntegrityError:
                raise EmailTaken from None
            self.refresh_from_db(fields=[*values])
            EmailedLink.end_all_to(old)
            Lockout.objects.delete_records(old, actor, Kind.LOCK_CLEARED)
            if undoes:
                audit.record(Kind.EMAIL_CHANGE_UNDONE, actor=actor, subject=self, undone=old)
                self.send_notice("email_change_undone", new=old)
                return True
            if not is_own:
                EmailedLink.end_all_of(self.pk)
            audit.record(Kind.EMAIL_CHANGED, actor=actor, subject=self, old=old)
            by = "" if is_own else actor.name_for(self)
            context = {"old": old, "new": email, "operator": not is_own, "by": by}
            context["only_admin"] = self.is_only_admin
            for mailbox in [email] if is_own else [old, email]:
                notice = Notice("email_is_changed", mailbox, self.language, context)
                OutgoingMail.objects.queue_notice(notice)
        return True

    def check_break_glass(self, was_kept: bool) -> None:
        """Check a stored change of the user, whose `keeps_password` was `was_kept` before, in its
        transaction. Raises LastBreakGlassAdmin if the company requires its provider and has no
        break-glass admin now, and CannotKeepPassword if the user has begun to keep a password, but
        is no admin with a password and a second factor."""
        if was_kept:
            providers.rules.require_break_glass_admin(self.account_id)
        elif self.keeps_password and not (
            self.role == Role.ADMIN and self.has_second_factor and self.has_usable_password()
        ):
            raise CannotKeepPassword

    @property
    def is_only_admin(self) -> bool:
        """Whether the user is the only active admin of the company."""
        if self.role != Role.ADMIN or not self.is_active:
            return False
        colleagues = User.objects.filter(account=self.account_id).exclude(pk=self.pk)
        return not colleagues.active_admins().exists()

    def stop_inviting(self, actor: Actor) -> list[str]:
        """Revoke the open invitations that the user has sent, in the caller's transaction. If there
        were any, the company's other active admins get a mail. Returns the invited addresses."""
        responses = stopped_inviting.send(User, user=self, actor=actor)
        revoked = [email for _, emails in responses for email in emails or []]
        if revoked:
            admins = User.objects.filter(account=self.account_id).active_admins()
            for admin in admins.exclude(pk=self.pk):
                names = {"name": self.get_full_name() or self.email, "by": actor.name_for(admin)}
                admin.send_notice("invitations_revoked", emails=revoked, **names)
        return revoked

    def send_notice(self, kind: str, **context: object) -> None:
        """Put a notice to the user into the outbox, in the caller's transaction: `kind` names a
        template in templates/emails, which gets `context` (JSON values) and `only_admin`, so that
        the only admin is not told to ask an admin."""
        context["only_admin"] = self.is_only_admin
        OutgoingMail.objects.queue_notice(Notice(kind, self.email, self.language, context))

    def redact_events(
        self, events: list[AuditEvent], *, of_company: bool = False
    ) -> list[AuditEvent]:
        """The same list of events as the user may read them, with `actor_name` and `subject_name`,
        "" for persons outside the company. The instances are changed: don't save them.

        E-mail addresses of actors outside the company, such as operators, are emptied; pseudonyms
        stay. Network address, user agent, request id and CALLER_DETAIL are left in events by the
        user only; with `of_company`, by any user or API key of the company.
        """
        names = self.names_of({pk for event in events for pk in (event.actor_id, event.subject_id)})
        for event in events:
            vars(event)["actor_name"] = names.get(event.actor_id, "")
            vars(event)["subject_name"] = names.get(event.subject_id, "")
            if event.actor_id not in names and not is_pseudonym(event.actor_email):
                event.actor_email = ""
            if event.actor_id not in (names if of_company else {self.pk}):
                event.address = event.agent = event.request_id = ""
                event.detail = {k: v for k, v in event.detail.items() if k not in CALLER_DETAIL}
        return events

    def current_and_former_emails(self) -> set[str]:
        """The user's address, and former ones that the audit log knows, without those that another
        user has now."""
        kinds = [Kind.EMAIL_CHANGED, Kind.EMAIL_CHANGE_UNDONE]
        changes = AuditEvent.objects.filter(kind__in=kinds, subject_id=self.pk)
        former = {change.detail.get("old") or change.detail.get("undone") for change in changes}
        taken_emails = User.objects.filter(email__in=former).exclude(pk=self.pk)
        return {str(self.email)} | former - set(taken_emails.values_list("email", flat=True))

    def changed_values(self, changes: dict[str, object]) -> dict[str, object]:
        """The part of `changes` that differs from the user's values."""
        return {name: value for name, value in changes.items() if getattr(self, name) != value}

    @classmethod
    def normalize_username(cls, username: str) -> str:
        return username  # CanonicalEmailField does that; Django's NFKC could merge two addresses
