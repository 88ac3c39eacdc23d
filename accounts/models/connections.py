"""A company's own identity provider (OpenID Connect), its mail domains, and its users there."""

import secrets
import uuid
from contextlib import suppress
from datetime import timedelta
from typing import Any, Self

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, Lower
from django.utils import timezone

import audit
from accounts.errors import (
    ConnectionStopped,
    ConnectionUntested,
    DomainListed,
    DomainOfAnother,
    LastWayBack,
    NoWayBack,
    TooManyDomains,
)
from accounts.models.companies import Account
from audit.actors import Actor
from audit.models import Kind
from base.secret_key import fernet_for

PURPOSE = "sso.secret"
LONGEST_ISSUER, LONGEST_CLIENT, LONGEST_SUB, LONGEST_DOMAIN = 500, 255, 255, 253
MOST_DOMAINS = 50  # of a company
NO_PROBLEM: dict[str, Any] = {"last_problem": "", "last_problem_at": None, "failing_since": None}


def make_record_token() -> str:
    return secrets.token_urlsafe(32)


def make_session_tag() -> str:
    return secrets.token_hex(16)


class DomainQuerySet(models.QuerySet["Domain"]):
    def add(self, actor: Actor, name: str) -> "Domain":
        """Add a domain, which is canonical, to the actor's company. Raises DomainListed,
        TooManyDomains, or PermissionDenied if the actor may not act on the company."""
        with transaction.atomic():
            account = Account.objects.lock(actor.account_id)
            actor.require_can_manage(account)
            own = self.filter(account=account)
            if own.filter(name=name).exists():
                raise DomainListed
            if own.count() >= MOST_DOMAINS:
                raise TooManyDomains
            domain = self.create(account=account, name=name)
            audit.record(Kind.DOMAIN_ADDED, actor=actor, subject=name)
        return domain

    def proved(self) -> Self:
        return self.filter(proved_at__isnull=False)

    def binding(self) -> Self:
        """The domains whose users must sign in at the company's provider, with the exceptions of
        `User.must_use_provider`. Operators' users are never bound."""
        return self.proved().filter(account__connection__required=True, account__is_operators=False)


class Domain(models.Model):
    """A mail domain of a company. One company can prove it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(
        Account, models.CASCADE, related_name="domains", verbose_name="company", editable=False
    )
    name = models.CharField(max_length=LONGEST_DOMAIN, editable=False)
    token = models.CharField(max_length=64, default=make_record_token, editable=False)
    proved_at = models.DateTimeField("proved", null=True, editable=False)

    objects = DomainQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["account", "name"], name="domain_once"),
            models.UniqueConstraint(
                fields=["name"], condition=Q(proved_at__isnull=False), name="domain_proved_once"
            ),
            models.CheckConstraint(condition=Q(name=Lower("name")), name="domain_lower"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_protected(self) -> bool:
        return self.account.is_protected

    @property
    def record_name(self) -> str:
        """The name of the TXT record that proves the domain."""
        return f"_consulting-management.{self.name}"

    @property
    def record_value(self) -> str:
        return f"consulting-management={self.token}"

    def mark_proved(self, actor: Actor) -> None:
        """Note that the TXT record was found, and mail the admins, since the provider can sign in
        users with an address there. Raises DomainOfAnother, or Domain.DoesNotExist if it was
        removed meanwhile; the unique index decides races."""
        actor.require_can_manage(self)
        try:
            with transaction.atomic():
                unproved = Domain.objects.filter(pk=self.pk, proved_at=None)
                if unproved.update(proved_at=timezone.now()):
                    audit.record(Kind.DOMAIN_PROVED, actor=actor, subject=self.name)
                    notify_admins(self.account, "proved", actor, domain=self.name)
        except IntegrityError:
            raise DomainOfAnother from None
        self.refresh_from_db(fields=["proved_at"])

    def remove(self, actor: Actor) -> None:
        """Users with an address in it then sign in as before, of which the admins are mailed.
        Raises PermissionDenied."""
        actor.require_can_manage(self)
        with transaction.atomic():
            if Domain.objects.filter(pk=self.pk).delete()[0]:
                audit.record(Kind.DOMAIN_REMOVED, actor=actor, subject=self.name)
                company = Connection.objects.filter(account=self.account_id, active=True).first()
                if company and self.proved_at:
                    company.notify_admins("domain", actor, domain=self.name)


class ConnectionQuerySet(models.QuerySet["Connection"]):
    def find_active(self, email: str) -> "Connection | None":
        """The active one of the company that has proved a canonical address's domain."""
        proved = Domain.objects.proved().filter(name=email.rpartition("@")[2])
        found = self.filter(active=True, account__domains__in=proved)
        return found.select_related("account").first()

    def configure(
        self,
        actor: Actor,
        *,
        issuer: str,
        client_id: str,
        client_secret: str,
        trusts_emails: bool | None = None,
    ) -> "Connection":
        """Set the provider of the actor's company up, or replace it. Unless nothing changes, it
        must be tested and switched on again. Another issuer or client ends the sessions, and the
        identities, since a `sub` may be of one client only. Without `trusts_emails`, a provider of
        the same issuer is trusted as it was, and another is not. Raises PermissionDenied."""
        with transaction.atomic():
            account = Account.objects.lock(actor.account_id)
            actor.require_can_manage(account)
            found = self.filter(account=account).first()
            new = found or Connection(pk=account.pk, account=account)
            if trusts_emails is None:
                trusts_emails = new.issuer == issuer and new.trusts_emails
            values = (issuer, client_id, client_secret, trusts_emails)
            if found and (new.issuer, new.client_id, new.secret, new.trusts_emails) == values:
                return found
            if (new.issuer, new.client_id) != (issuer, client_id):
                new.identities.all().delete()
                new.session_tag = make_session_tag()
            new.issuer, new.client_id, new.secret, new.trusts_emails = values
            new.active = new.required = False
            new.configured_at, new.tested_at = timezone.now(), None
            vars(new).update(NO_PROBLEM)
            new.save()
            trust = {"trusts_emails": True} if trusts_emails else {}
            new.record(Kind.SSO_CONFIGURED, actor, client=client_id, **trust)
            if found:
                new.notify_admins("replaced", actor)
        return new

    def require_way_back(self, account_id: uuid.UUID) -> None:
        """Raise LastWayBack if the company requires its provider, and no admin could sign in
        otherwise. In a transaction that has locked the company and changed a user."""
        company = self.filter(account=account_id, required=True).select_related("account").first()
        if company and not company.account.users.ways_back().exists():
            raise LastWayBack

    def count_failing(self) -> int:
        """The active ones that have been down for an hour, although users try to sign in."""
        hour_ago = timezone.now() - timedelta(hours=1)
        failing = self.filter(active=True, failing_since__lte=hour_ago)
        return failing.filter(last_problem_at__gt=hour_ago).count()

    def encrypt_anew(self) -> None:
        """Encrypt every secret with SECRET_KEY, so that SECRET_KEY_FALLBACKS aren't needed. Those
        under a lost key stay as they are."""
        for pk, old in self.values_list("pk", "encrypted_secret"):
            with suppress(InvalidToken):
                new = fernet_for(PURPOSE).rotate(old).decode()
                self.filter(pk=pk, encrypted_secret=old).update(encrypted_secret=new)


class Connection(models.Model):
    """A company's provider. Its id is the company's, so that the redirect URI is known before.

    `tested_at` is of the present issuer, client and secret, which date from `configured_at`.
    The tokens of sessions that begin there have the `session_tag`, and another one ends them; it is
    "" for connections of release 2.1, whose tokens have none.
    With `trusts_emails`, an address counts as verified where the provider doesn't say. By the
    database's default it is true for connections of release 2.1, which trusted every provider.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.OneToOneField(
        Account, models.CASCADE, related_name="connection", verbose_name="company", editable=False
    )
    issuer = models.CharField(max_length=LONGEST_ISSUER, editable=False)
    client_id = models.CharField("client ID", max_length=LONGEST_CLIENT, editable=False)
    encrypted_secret = models.TextField(editable=False)
    active = models.BooleanField(default=False, editable=False)
    required = models.BooleanField(default=False, editable=False)
    creates_users = models.BooleanField(default=True, editable=False)
    session_tag = models.CharField(max_length=32, default="", db_default="", editable=False)
    trusts_emails = models.BooleanField(default=False, db_default=True, editable=False)
    configured_at = models.DateTimeField("set up", default=timezone.now, editable=False)
    tested_at = models.DateTimeField("tested", null=True, editable=False)
    stopped_at = models.DateTimeField("switched off by operators", null=True, editable=False)
    last_problem = models.CharField(max_length=40, blank=True, editable=False)
    last_problem_at = models.DateTimeField("time of it", null=True, editable=False)
    failing_since = models.DateTimeField(null=True, editable=False)

    objects = ConnectionQuerySet.as_manager()

    class Meta:
        ordering = ["account__name", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(active=False) | Q(tested_at__isnull=False),
                name="connection_active_is_tested",
            ),
            models.CheckConstraint(
                condition=Q(required=False) | Q(active=True), name="connection_required_is_active"
            ),
            models.CheckConstraint(
                condition=Q(active=False) | Q(stopped_at=None), name="connection_active_or_stopped"
            ),
        ]

    def __str__(self) -> str:
        return self.issuer

    @property
    def is_protected(self) -> bool:
        return self.account.is_protected

    @property
    def redirect_uri(self) -> str:
        return f"{settings.SERVICE_URL}/auth/sso/{self.pk}/callback"

    @property
    def secret(self) -> str:
        """The client secret; "" under a lost SECRET_KEY."""
        try:
            plain = fernet_for(PURPOSE).decrypt(self.encrypted_secret)
        except InvalidToken:
            return ""
        return plain.removeprefix(self.pk.bytes).decode()

    @secret.setter
    def secret(self, value: str) -> None:
        plain = self.pk.bytes + value.encode()  # useless in another row
        self.encrypted_secret = fernet_for(PURPOSE).encrypt(plain).decode()

    def record_test(self, actor: Actor) -> bool:
        """Note that a round trip with the issuer, client and secret of this instance succeeded.
        Returns False if they were changed meanwhile."""
        same = Connection.objects.filter(pk=self.pk, configured_at=self.configured_at)
        with transaction.atomic():
            if not same.update(tested_at=timezone.now(), **NO_PROBLEM):
                return False
            self.record(Kind.SSO_TESTED, actor)
        return True

    def record_problem(self, problem: str, *, is_down: bool = True) -> None:
        """Keep the last problem, a short word, for admins and operators. The provider is failing
        while `is_down`; it isn't if it answers something else that is wrong."""
        now = timezone.now()
        Connection.objects.filter(pk=self.pk).update(
            last_problem=problem[:40],
            last_problem_at=now,
            failing_since=Coalesce("failing_since", Value(now)) if is_down else None,
        )

    def record_success(self) -> None:
        """A sign-in there worked: it isn't down any more."""
        if self.failing_since:
            Connection.objects.filter(pk=self.pk).update(**NO_PROBLEM)

    def change_switches(self, actor: Actor, **wanted: bool) -> None:
        """Change `active`, `required` or `creates_users`; what is not active is not required.
        Switching it off ends the sessions that began there.

        Raises ConnectionStopped, ConnectionUntested, NoWayBack or PermissionDenied, and then
        changes nothing.
        """
        with transaction.atomic():
            actor.require_can_manage(Account.objects.lock(self.account_id))
            self.refresh_from_db()
            old = {name: getattr(self, name) for name in ("active", "required", "creates_users")}
            new = old | wanted
            new["required"] = new["required"] and (new["active"] or wanted.get("required", False))
            news = {name: value for name, value in new.items() if value != old[name]}
            if news.get("active") and self.stopped_at:
                raise ConnectionStopped
            if (new["active"] and not self.tested_at) or (new["required"] and not new["active"]):
                raise ConnectionUntested
            if news.get("required") and not self.account.users.ways_back().exists():
                raise NoWayBack
            if news:
                ended = {} if new["active"] else {"session_tag": make_session_tag()}
                Connection.objects.filter(pk=self.pk).update(**news, **ended)
                vars(self).update(news | ended)
                self.record(Kind.SSO_CHANGED, actor, **news)
                self.notify_admins(change_word(news), actor)

    def remove(self, actor: Actor) -> None:
        """Delete it; its users keep their accounts, and the sessions that began there end. Raises
        ConnectionStopped, since a new one would be allowed, or PermissionDenied."""
        with transaction.atomic():
            actor.require_can_manage(Account.objects.lock(self.account_id))
            self.refresh_from_db()
            if self.stopped_at:
                raise ConnectionStopped
            self.record(Kind.SSO_REMOVED, actor)
            self.notify_admins("off", actor)
            Connection.objects.filter(pk=self.pk).delete()

    def stop(self, actor: Actor) -> bool:
        """Switch it off until operators allow it again, and end the sessions that began there.
        Returns False if it was."""
        off: dict[str, Any] = {"active": False, "required": False, "stopped_at": timezone.now()}
        off |= {"session_tag": make_session_tag()}
        with transaction.atomic():
            Account.objects.lock(self.account_id)  # no admin changes it meanwhile
            if not Connection.objects.filter(pk=self.pk, stopped_at=None).update(**off):
                return False
            self.record(Kind.SSO_STOPPED, actor)
            self.notify_admins("off", actor)
        return True

    def allow(self, actor: Actor) -> bool:
        """Let the company's admins switch it on again. Returns False if they could."""
        stopped = Connection.objects.filter(pk=self.pk, stopped_at__isnull=False)
        with transaction.atomic():
            Account.objects.lock(self.account_id)
            if not stopped.update(stopped_at=None):
                return False
            self.record(Kind.SSO_ALLOWED, actor)
        return True

    def record(self, kind: Kind, actor: Actor, **detail: Any) -> None:
        company = self.account_id
        audit.record(kind, actor=actor, subject=self.issuer, account_id=company, **detail)

    def notify_admins(self, change: str, actor: Actor, **context: object) -> None:
        notify_admins(self.account, change, actor, issuer=self.issuer, **context)


def notify_admins(account: Account, change: str, actor: Actor, **context: object) -> None:
    """Mail the company's active admins what was changed about signing in: a word of
    templates/emails."""
    for admin in account.users.active_admins():
        admin.send_notice("sso_changed", change=change, by=actor.name_for(admin), **context)


def change_word(news: dict[str, bool]) -> str:
    """What a mail says of changed switches: the most important one."""
    if "active" in news and not (news["active"] and "required" in news):
        return "on" if news["active"] else "off"
    if "required" in news:
        return "required" if news["required"] else "optional"
    return "creates" if news["creates_users"] else "invites"


class Identity(models.Model):
    """A user at a connection, by the provider's `sub`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    connection = models.ForeignKey(
        Connection, models.CASCADE, related_name="identities", editable=False
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="identities", editable=False
    )
    sub = models.CharField("subject", max_length=LONGEST_SUB, editable=False)
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)

    class Meta:
        ordering = ["created_at"]
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(fields=["connection", "sub"], name="identity_sub"),
            models.UniqueConstraint(fields=["connection", "user"], name="identity_user"),
            models.CheckConstraint(condition=~Q(sub=""), name="identity_sub_given"),
        ]

    def __str__(self) -> str:
        return self.sub
