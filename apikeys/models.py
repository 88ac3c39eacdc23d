"""API keys, by which a company's own programs call the API."""

import hashlib
import re
import secrets
import uuid
import zlib
from collections.abc import Iterable
from datetime import timedelta
from typing import ClassVar, Self
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed

import audit
from accounts.models import Account, User
from accounts.models.companies import NamedModel
from accounts.validators import validate_name
from apikeys.errors import TooManyKeys
from audit.actors import Actor, CommandActor
from audit.models import Kind
from base.batches import delete_in_batches
from base.compiled import Finder, Slot
from invitations.models import Invitation

PREFIX = "cm_"  # by which scanners for leaked secrets find a key
KEY = re.compile(r"cm_[A-Za-z0-9_-]{43}[0-9a-zA-Z]{6}")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_LIVE_KEYS = 50  # of a company
DEFAULT_DAYS, MAX_DAYS = 90, 365  # for which a key works
MAX_KEY_NAME_LENGTH = 60
MAX_PROBLEM_LENGTH = 200
WRITE_PAUSE = timedelta(seconds=60)  # between two UPDATEs of a key's last use or problem
CLOCK_TOLERANCE = timedelta(hours=1)  # by which one host's clock may be ahead of another's


def checksum_of(text: str) -> str:
    """The CRC-32 of the text as six digits of base 62, by which a mistyped key is refused without a
    query."""
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = DIGITS[digit] + digits
    return digits


def make_key() -> str:
    """A new key as text: PREFIX, 256 random bits, and their checksum."""
    text = PREFIX + secrets.token_urlsafe(32)
    return text + checksum_of(text)


def key_digest(key: str) -> str:
    """The key's SHA-256, which alone is stored. 256 random bits need no salt or slow hash."""
    return hashlib.sha256(key.encode()).hexdigest()


# The key with this digest, if it works at the time `now`.
find_live_key = Finder(
    lambda: ApiKey.objects.filter(
        digest=Slot("digest", models.CharField()),
        revoked_at=None,
        expires_at__gt=Slot("now", models.DateTimeField()),
    )
)


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def live(self) -> Self:
        return self.filter(revoked_at=None, expires_at__gt=timezone.now())

    def find_by_key(self, key: str) -> "ApiKey | None":
        """The row of the key with this text, or None if it is unknown, expired or revoked: all
        three take one statement, and so the same time. A malformed or mistyped key takes none."""
        if not KEY.fullmatch(key) or checksum_of(key[:-6]) != key[-6:]:
            return None
        return find_live_key(digest=key_digest(key), now=timezone.now())

    def make(
        self,
        actor: User | CommandActor,
        name: str,
        scopes: Iterable[str],
        days: int = DEFAULT_DAYS,
    ) -> tuple["ApiKey", str]:
        """Make a key of the company of the user who acts, and mail its admins. A command makes a
        key of no company, which sees all. Returns the row, and the key's text, which can't be read
        again. Records the event.

        The caller has validated name, scopes and the days for which the key works, and has
        re-authenticated the user, an admin. Raises NotFound if the company was deleted, Django's
        PermissionDenied for the operators' company if the user is no superuser, or TooManyKeys."""
        key = make_key()
        row = ApiKey(
            account_id=actor.account_id,
            name=name,
            scopes=sorted({*scopes}),
            digest=key_digest(key),
            last_four=key[-4:],
            created_by=actor if isinstance(actor, User) else None,
            expires_at=timezone.now() + timedelta(days=days),
        )
        with transaction.atomic():
            if actor.account_id:
                row.account = Account.objects.lock(actor.account_id)
                actor.require_can_manage(row.account)
                if self.live().filter(account=row.account).count() >= MAX_LIVE_KEYS:
                    raise TooManyKeys
            row.save(force_insert=True)
            facts = {"scopes": row.scopes, "expires_at": row.expires_at, "last_four": row.last_four}
            audit.record(Kind.API_KEY_MADE, actor=actor, subject=row, **facts)
            row.notify_admins(actor)
        return row, key

    def end_all(self) -> int:
        """Revoke every key that works, after a restore; returns their number. Neither records
        events nor revokes invitations."""
        return self.live().update(revoked_at=timezone.now())

    def prune_expired(self) -> int:
        """Delete the keys whose end the audit log no longer has; returns their number."""
        limit = timezone.now() - timedelta(days=settings.AUDIT_KEEP_DAYS)
        return delete_in_batches(self.filter(Q(expires_at__lte=limit) | Q(revoked_at__lte=limit)))


class ApiKey(Actor, NamedModel):
    """A key of a company, or of the operators if `account` is None. It outlives the user who made
    it. As `request.user`, the key is the actor in the audit log. It has no role: a view lets it in
    by its scopes (`ProtectedView.key_scopes`)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # The database itself cascades (migration 0001): hosts of 3.0 delete companies and users, too.
    account = models.ForeignKey(
        Account,
        models.CASCADE,
        null=True,
        related_name="api_keys",
        verbose_name="company",
        db_constraint=False,
    )
    name = models.CharField(max_length=MAX_KEY_NAME_LENGTH, validators=[validate_name])
    scopes = models.JSONField()
    digest = models.CharField(max_length=64, unique=True)
    last_four = models.CharField(max_length=4)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name="made by",
        db_constraint=False,
    )
    created_at = models.DateTimeField("made", default=timezone.now)
    expires_at = models.DateTimeField("expires")
    last_used_at = models.DateTimeField("last used", null=True)
    revoked_at = models.DateTimeField("revoked", null=True)
    last_problem = models.CharField(max_length=MAX_PROBLEM_LENGTH, default="", db_default="")
    last_problem_at = models.DateTimeField("problem at", null=True)
    problem_cleared_at = models.DateTimeField(null=True)

    objects: ClassVar = ApiKeyQuerySet.as_manager()
    redact_events = User.redact_events  # reads the company alone
    is_superuser = may_make_admins = False
    is_authenticated = True
    log_field = "key"

    class Meta:
        db_table = "accounts_apikey"
        ordering = ["-created_at", "id"]
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} (…{self.last_four})"

    @property
    def email(self) -> str:
        """What the audit log has in place of an address."""
        return f"API key {self.name}"

    def get_full_name(self) -> str:
        return self.email

    @property
    def language(self) -> str:
        """The language of mails that the key causes: the maker's, if there is one."""
        return self.created_by.language if self.created_by else settings.LANGUAGE_CODE

    @property
    def is_protected(self) -> bool:
        """Whether only superusers and commands may act on the key."""
        return self.account is None or self.account.is_protected

    def require_live(self) -> None:
        """Raise AuthenticationFailed if the key has ended since the request began. The caller's
        transaction has locked the company, which `revoke` also locks."""
        if not ApiKey.objects.live().filter(pk=self.pk).exists():
            raise AuthenticationFailed

    def record_use(self) -> None:
        """Store the time of the key's last use, unless the stored time is less than WRITE_PAUSE ago
        or CLOCK_TOLERANCE ahead."""
        self.write_at("last_used_at")

    def record_problem(self, text: str) -> None:
        """Store why a request with this key was refused, unless the stored problem's time is less
        than WRITE_PAUSE ago or CLOCK_TOLERANCE ahead. The text must name no person, since an
        erasure doesn't search it. Call this after the request's transaction, which the refusal has
        rolled back."""
        self.write_at("last_problem_at", last_problem=text[:MAX_PROBLEM_LENGTH])

    def clear_problem(self) -> None:
        """Empty the stored problem, since a request with this key has succeeded, unless the time of
        the last emptying is less than WRITE_PAUSE ago or CLOCK_TOLERANCE ahead: where reads succeed
        and writes fail by turns, the problem stays visible."""
        if self.last_problem:
            self.write_at("problem_cleared_at", last_problem="", last_problem_at=None)

    def write_at(self, column: str, **values: object) -> None:
        """Store `values` and, in the column of this name, the present time. Does nothing if the
        column's time, as loaded or as a parallel request has stored it since, is less than
        WRITE_PAUSE ago or CLOCK_TOLERANCE ahead: not every request should write, also where hosts'
        clocks differ. A time further ahead is overwritten, since a host's clock was wrong. The
        instance keeps its values."""
        last, now = getattr(self, column), timezone.now()
        earliest, latest = now - WRITE_PAUSE, now + CLOCK_TOLERANCE
        if last is None or not earliest < last < latest:
            is_due = Q(**{column: None}) | Q(**{f"{column}__lte": earliest})
            is_due |= Q(**{f"{column}__gte": latest})
            ApiKey.objects.filter(is_due, pk=self.pk).update(**values, **{column: now})

    def revoke(self, actor: Actor) -> bool:
        """End the key, revoke the open invitations that it has sent, and record both. Returns False
        if it was revoked or deleted before. The caller has checked that the actor is an admin of
        the key's company, support staff or a command. Raises NotFound if the company was deleted,
        or Django's PermissionDenied for a key with `is_protected` if the actor is no superuser.

        It holds the company's lock, which `Invitation.send` also takes: an invitation that races is
        either revoked here or refused there.
        """
        with transaction.atomic():
            if self.account_id:
                Account.objects.lock(self.account_id)
            actor.require_can_manage(self)
            unrevoked = ApiKey.objects.filter(pk=self.pk, revoked_at=None)
            if not unrevoked.update(revoked_at=timezone.now()):
                return False
            audit.record(Kind.API_KEY_REVOKED, actor=actor, subject=self)
            Invitation.objects.revoke_sent_by(self, actor)
        return True

    def notify_admins(self, maker: Actor) -> None:
        """Mail the active admins of the key's company, if it has one, that `maker` has made it. The
        day of its end is that in the company's time zone."""
        if self.account is None:
            return
        end = self.expires_at.astimezone(ZoneInfo(self.account.time_zone or "UTC"))
        scopes = [scope.replace(":", "_") for scope in self.scopes]  # notices break up colons
        facts = {"name": self.name, "scopes": scopes, "end": f"{end:%Y-%m-%d}"}
        for admin in self.account.users.active_admins():
            admin.send_notice("api_key_made", by=maker.name_for(admin), **facts)
