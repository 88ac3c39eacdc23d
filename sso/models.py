"""Tables of company sign-in: a company's mail domains, its identity provider (OpenID Connect), the
users whom the provider has named, and a copy of the provider's metadata and keys."""

import secrets
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Literal, Self

import jwt
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import IntegrityError, models, transaction
from django.db.models import Exists, ExpressionWrapper, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce, Concat, Lower
from django.utils import timezone

import audit
from accounts.errors import LastBreakGlassAdmin
from accounts.models import Account, User
from accounts.models.users import IS_BREAK_GLASS_ADMIN
from api.errors import refresh_or_404
from audit.actors import Actor
from audit.models import Kind
from base.sealed import decrypt_for_row, encrypt_for_row, fernet_for
from sso import errors, openid

ENCRYPTION_PURPOSE = "sso.secret"  # of client secrets
ENTRA_ISSUERS = (  # their beginnings, in all clouds
    "https://login.microsoftonline.com/",
    "https://login.microsoftonline.us/",
    "https://login.partner.microsoftonline.cn/",
    "https://sts.windows.net/",
)
MAX_ISSUER, MAX_CLIENT_ID, MAX_SUBJECT, MAX_DOMAIN = 500, 255, 255, 253  # characters
MAX_DOMAINS = 50  # of a company
NO_PROBLEM: dict[str, Any] = {"last_problem": "", "last_problem_at": None, "failing_since": None}
METADATA_MAX_AGE = timedelta(days=1)  # older metadata and keys are read again at a sign-in
KEYS_MIN_AGE = timedelta(minutes=1)  # for an unknown key, all processes read once in this time


def make_session_tag() -> str:
    return secrets.token_hex(16)


class DomainQuerySet(models.QuerySet["Domain"]):
    def add(self, actor: Actor, name: str) -> "Domain":
        """Add a mail domain, not yet proved, to the actor's company. The caller has checked that
        the actor is an admin and that `name` is a domain in lower-case ASCII. Raises Django's
        PermissionDenied for the operators' company if the actor is no superuser, NotFound for a
        deleted company, DomainListed or TooManyDomains."""
        with transaction.atomic():
            account = Account.objects.lock(actor.account_id)
            actor.require_can_manage(account)
            company_domains = self.filter(account=account)
            if company_domains.filter(name=name).exists():
                raise errors.DomainListed
            if company_domains.count() >= MAX_DOMAINS:
                raise errors.TooManyDomains
            domain = self.create(account=account, name=name)
            audit.record(Kind.DOMAIN_ADDED, actor=actor, subject=name)
        return domain

    def proved_for(self, email: str) -> Self:
        """Return the proved domain of a canonical address; it is one company's."""
        return self.filter(name=email.rpartition("@")[2], proved_at__isnull=False)

    def requiring_provider(self, column: Callable[[str], Any]) -> Self:
        """Return the domain because of which a user must sign in at the company's provider: the
        company requires its provider and has proved the domain of the user's canonical address.
        Empty for break-glass admins, also without a password, and for staff and operators, whom a
        customer could lock out. `column` maps the name of a user's field to an SQL expression:
        OuterRef in a subquery of users, Value for a single user."""
        names = ("email", "is_staff", "is_superuser", "role", "keeps_password", "has_second_factor")
        fields: dict[str, Any] = {name: User._meta.get_field(name) for name in names}
        values = {name: ExpressionWrapper(column(name), field) for name, field in fields.items()}
        return self.alias(**values).filter(
            ~(Q(is_staff=True) | Q(is_superuser=True) | IS_BREAK_GLASS_ADMIN),
            email__endswith=Concat(Value("@"), "name"),
            proved_at__isnull=False,
            account=column("account_id"),
            account__is_operators=False,
            account__identity_provider__required=True,
        )


class Domain(models.Model):
    """A mail domain of a company. Several companies can list it, but only one can prove it, by a
    TXT record."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(
        Account, models.CASCADE, related_name="domains", verbose_name="company", editable=False
    )
    name = models.CharField(max_length=MAX_DOMAIN, editable=False)
    token = models.CharField(max_length=64, default=secrets.token_urlsafe, editable=False)
    proved_at = models.DateTimeField("proved", null=True, editable=False)

    objects = DomainQuerySet.as_manager()

    class Meta:
        db_table = "accounts_domain"
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
    def record_name(self) -> str:
        """The name of the TXT record that proves the domain; `record_value` is its value."""
        return f"_consulting-management.{self.name}"

    @property
    def record_value(self) -> str:
        return f"consulting-management={self.token}"

    def mark_proved(self, actor: Actor) -> None:
        """Store and record that an admin has proved the domain, whose TXT record the caller has
        found, and mail the company's admins. Nothing happens if it was proved before. Raises
        Django's PermissionDenied for the operators' company if the actor is no superuser,
        DomainOfAnother if another company has proved the domain, or NotFound if the row was
        deleted."""
        actor.require_can_manage(self.account)
        try:
            with transaction.atomic():  # the unique index decides races
                unproved_domains = Domain.objects.filter(pk=self.pk, proved_at=None)
                if unproved_domains.update(proved_at=timezone.now()):
                    audit.record(Kind.DOMAIN_PROVED, actor=actor, subject=self.name)
                    self.account.notify_of_sign_in_change("proved", actor, domain=self.name)
        except IntegrityError:
            raise errors.DomainOfAnother from None
        refresh_or_404(self, fields=["proved_at"])

    def remove(self, actor: Actor) -> None:
        """Delete the domain for an admin, and record it, unless another request has done so. If it
        was proved and the provider is active, mail the company's admins: users with an address in
        it sign in by password again. Raises Django's PermissionDenied for the operators' company if
        the actor is no superuser."""
        actor.require_can_manage(self.account)
        with transaction.atomic():
            if Domain.objects.filter(pk=self.pk).delete()[0]:
                audit.record(Kind.DOMAIN_REMOVED, actor=actor, subject=self.name)
                providers = IdentityProvider.objects.filter(account=self.account_id, active=True)
                if self.proved_at and (provider := providers.first()):
                    self.account.notify_of_sign_in_change(
                        "domain", actor, issuer=provider.issuer, domain=self.name
                    )


class IdentityProviderQuerySet(models.QuerySet["IdentityProvider"]):
    """Implements `accounts.providers.ProviderRules`, which describes the methods that have no
    docstring here."""

    def find_active_for(self, email: str) -> "IdentityProvider | None":
        """Return the active provider, with its `account`, of the company that has proved the domain
        of this canonical address; None if there is none. No provider of the operators' company is
        returned, since `linking` lets none of its users sign in."""
        providers = self.filter(active=True, account__domains__in=Domain.objects.proved_for(email))
        providers = providers.filter(account__is_operators=False)
        return providers.select_related("account").first()

    def configure(
        self,
        actor: Actor,
        *,
        issuer: str,
        client_id: str,
        client_secret: str,
        trusts_emails: bool | None = None,
    ) -> "IdentityProvider":
        """Set up or replace the provider of a re-authenticated admin's company; return it.

        1. Lock the company. Raises NotFound if it was deleted, or PermissionDenied if it is the
           operators' company and the actor no superuser.
        2. If `trusts_emails` is None, keep it for the same issuer, and use false for another.
           Return if no value is different.
        3. For another issuer or client ID, delete the identities, since a `sub` may belong to one
           client only, and end the sessions that began at the provider.
        4. Store the values. Switch the provider off until an admin tests it and switches it on.
        5. Record the change. Mail the admins if the company had a provider.
        """
        with transaction.atomic():
            account = Account.objects.lock(actor.account_id)
            actor.require_can_manage(account)
            stored_provider = self.filter(account=account).first()
            provider = stored_provider or IdentityProvider(pk=account.pk, account=account)
            if trusts_emails is None:
                trusts_emails = provider.issuer == issuer and provider.trusts_emails
            values = {"issuer": issuer, "client_id": client_id, "trusts_emails": trusts_emails}
            values["secret"] = client_secret
            is_unchanged = all(getattr(provider, name) == value for name, value in values.items())
            if stored_provider and is_unchanged:
                return stored_provider
            if (provider.issuer, provider.client_id) != (issuer, client_id):
                provider.identities.all().delete()
                provider.session_tag = make_session_tag()
            for name, value in values.items():
                setattr(provider, name, value)
            provider.active = provider.required = False
            provider.configured_at, provider.tested_at = timezone.now(), None
            vars(provider).update(NO_PROBLEM)
            provider.save()
            trust_detail = {"trusts_emails": True} if trusts_emails else {}
            change = "replaced" if stored_provider else ""
            provider.record(Kind.SSO_CONFIGURED, actor, change, client=client_id, **trust_detail)
        return provider

    def annotations(self) -> dict[str, Any]:
        providers = self.filter(account=OuterRef("account_id")).order_by()
        return {
            "must_use_provider": Exists(Domain.objects.requiring_provider(OuterRef)),
            "provider_tag": Subquery(providers.values("session_tag")),
        }

    def must_be_used_by(self, user: User) -> bool:
        return Domain.objects.requiring_provider(lambda name: Value(getattr(user, name))).exists()

    def session_tag_of(self, account_id: uuid.UUID) -> str | None:
        return self.filter(account=account_id).values_list("session_tag", flat=True).first()

    def find_required_for(self, email: str) -> Account | None:
        provider = self.find_active_for(email)
        return provider.account if provider and provider.required else None

    def has_proved_domain(self, account_id: uuid.UUID, email: str) -> bool:
        return Domain.objects.proved_for(email).filter(account=account_id).exists()

    def is_required_by(self, account_id: uuid.UUID) -> bool:
        return self.filter(account=account_id, required=True).exists()

    def require_break_glass_admin(self, account_id: uuid.UUID) -> None:
        admins = User.objects.filter(account=account_id).break_glass_admins()
        if self.is_required_by(account_id) and not admins.exists():
            raise LastBreakGlassAdmin

    def count_failing(self) -> int:
        """Return how many active providers have been down for an hour, and failed in the last."""
        hour_ago = timezone.now() - timedelta(hours=1)
        failing_providers = self.filter(active=True, failing_since__lte=hour_ago)
        return failing_providers.filter(last_problem_at__gt=hour_ago).count()

    def encrypt_anew(self) -> None:
        """Encrypt every client secret with SECRET_KEY, so that none needs SECRET_KEY_FALLBACKS. One
        that was encrypted with a lost key stays as it is."""
        for pk, old_secret in self.values_list("pk", "encrypted_secret"):
            with suppress(InvalidToken):
                new_secret = fernet_for(ENCRYPTION_PURPOSE).rotate(old_secret).decode()
                self.filter(pk=pk, encrypted_secret=old_secret).update(encrypted_secret=new_secret)


class IdentityProvider(models.Model):
    """A company's identity provider. Its id is the company's, so that admins know the redirect URI
    before they set the provider up.

    `configured_at` is when the issuer, client ID, secret or `trusts_emails` last changed,
    `tested_at` when a test with the present ones last succeeded. Tokens of sessions that began at
    the provider carry the `session_tag`; a new tag ends them. It is "" if release 2.1 has set the
    provider up. With `trusts_emails`, an address is verified unless the provider denies it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.OneToOneField(
        Account,
        models.CASCADE,
        related_name="identity_provider",
        verbose_name="company",
        editable=False,
    )
    issuer = models.CharField(max_length=MAX_ISSUER, editable=False)
    client_id = models.CharField("client ID", max_length=MAX_CLIENT_ID, editable=False)
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

    objects = IdentityProviderQuerySet.as_manager()

    class Meta:
        db_table = "accounts_connection"
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
    def redirect_uri(self) -> str:
        return f"{settings.SERVICE_URL}/auth/sso/{self.pk}/callback"

    @property
    def trusts_unstated_emails(self) -> bool:
        """Whether an address counts as verified if the provider doesn't say: an admin trusts it, or
        it is Entra, which says nothing, and where only a tenant's admins give addresses."""
        return self.trusts_emails or self.issuer.startswith(ENTRA_ISSUERS)

    @property
    def secret(self) -> str:
        """The client secret; "" if it was encrypted with a lost SECRET_KEY."""
        return (decrypt_for_row(self.pk, ENCRYPTION_PURPOSE, self.encrypted_secret) or b"").decode()

    @secret.setter
    def secret(self, value: str) -> None:
        self.encrypted_secret = encrypt_for_row(self.pk, ENCRYPTION_PURPOSE, value.encode())

    def record_test(self, actor: Actor) -> bool:
        """Record that the actor's test sign-in succeeded, and clear the last problem and an outage.
        Returns False, and changes nothing, if the provider was configured anew or removed since
        this instance was loaded, which keeps its values."""
        providers = IdentityProvider.objects.filter(pk=self.pk, configured_at=self.configured_at)
        with transaction.atomic():
            if not providers.update(tested_at=timezone.now(), **NO_PROBLEM):
                return False
            self.record(Kind.SSO_TESTED, actor)
        return True

    def record_problem(self, problem: str, *, is_down: bool = True) -> None:
        """Store the first 40 characters of why a sign-in failed, for admins and operators. With
        `is_down`, no user can sign in: an outage begins, unless one has begun before. Otherwise an
        outage ends. This instance keeps its values."""
        now = timezone.now()
        IdentityProvider.objects.filter(pk=self.pk).update(
            last_problem=problem[:40],
            last_problem_at=now,
            failing_since=Coalesce("failing_since", Value(now)) if is_down else None,
        )

    def record_success(self) -> None:
        """End an outage, since a sign-in has succeeded, and clear the last problem. Without an
        outage when this instance was loaded, the last problem stays."""
        if self.failing_since:
            IdentityProvider.objects.filter(pk=self.pk).update(**NO_PROBLEM)

    def change_switches(self, actor: Actor, **switches: bool) -> None:
        """Change `active`, `required` or `creates_users` for a re-authenticated admin. A change is
        recorded and mailed to the admins. Switching the provider off also makes it optional, and
        ends the sessions that began there.

        Raises Django's PermissionDenied for the operators' company if the actor is no superuser,
        NotFound if the provider or the company was deleted, ProviderStopped for switching on what
        operators have stopped, ProviderUntested if the provider would be active without a test or
        required without being active, or NoBreakGlassAdmin for requiring it without a break-glass
        admin."""
        with transaction.atomic():
            actor.require_can_manage(Account.objects.lock(self.account_id))
            refresh_or_404(self)
            old = {name: getattr(self, name) for name in ("active", "required", "creates_users")}
            new = old | switches
            if not new["active"]:  # then it is optional, unless the caller has passed `required`
                new["required"] = switches.get("required", False)
            changes = {name: value for name, value in new.items() if value != old[name]}
            if changes.get("active") and self.stopped_at:
                raise errors.ProviderStopped
            if (new["active"] and not self.tested_at) or (new["required"] and not new["active"]):
                raise errors.ProviderUntested
            if changes.get("required") and not self.account.users.break_glass_admins().exists():
                raise errors.NoBreakGlassAdmin
            if changes:
                is_switched_off = changes.get("active") is False
                new_tag = {"session_tag": make_session_tag()} if is_switched_off else {}
                IdentityProvider.objects.filter(pk=self.pk).update(**changes, **new_tag)
                vars(self).update(changes | new_tag)
                self.record(Kind.SSO_CHANGED, actor, most_important_change(changes), **changes)

    def remove(self, actor: Actor) -> None:
        """Delete the provider for a re-authenticated admin, record it and mail the admins. Sessions
        that began there end, and users are unlinked. Raises Django's PermissionDenied for the
        operators' company if the actor is no superuser, NotFound if the provider or the company was
        deleted, or ProviderStopped if operators have stopped it: a new one would not be stopped."""
        with transaction.atomic():
            actor.require_can_manage(Account.objects.lock(self.account_id))
            refresh_or_404(self)
            if self.stopped_at:
                raise errors.ProviderStopped
            self.record(Kind.SSO_REMOVED, actor, "off")
            IdentityProvider.objects.filter(pk=self.pk).delete()

    def stop(self, actor: Actor) -> bool:
        """Switch the provider off until operators allow it again, end the sessions that began
        there, and mail the company's admins. Returns False, and does nothing, if it is stopped
        already. Raises NotFound if the provider or the company was deleted. The actor is a
        superuser or a command; this instance keeps `active`, `required` and `session_tag`."""
        values = {"active": False, "required": False, "session_tag": make_session_tag()}
        with transaction.atomic():
            Account.objects.lock(self.account_id)  # no admin changes it meanwhile
            refresh_or_404(self)
            if self.stopped_at:
                return False
            IdentityProvider.objects.filter(pk=self.pk).update(stopped_at=timezone.now(), **values)
            self.record(Kind.SSO_STOPPED, actor, "off")
        return True

    def allow(self, actor: Actor) -> bool:
        """Let the company's admins switch the provider on again. Returns False, and does nothing,
        if it is not stopped. Raises NotFound if the provider or the company was deleted. The actor
        is a superuser or a command; this instance keeps `stopped_at`."""
        with transaction.atomic():
            Account.objects.lock(self.account_id)
            refresh_or_404(self)
            if not self.stopped_at:
                return False
            IdentityProvider.objects.filter(pk=self.pk).update(stopped_at=None)
            self.record(Kind.SSO_ALLOWED, actor)
        return True

    def record(self, kind: Kind, actor: Actor, change: str = "", **detail: Any) -> None:
        """Record an event in the caller's transaction. With a `change`, a word of the mail template
        `sso_changed`, also mail the company's admins."""
        company_id = self.account_id
        audit.record(kind, actor=actor, subject=self.issuer, account_id=company_id, **detail)
        if change:
            self.account.notify_of_sign_in_change(change, actor, issuer=self.issuer)


def most_important_change(changes: dict[str, bool]) -> str:
    """Return the word of the mail template `sso_changed` for the most important of the changed
    switches: `active`, `required`, `creates_users`. A provider that becomes active and required at
    once is "required"."""
    if "active" in changes and not (changes["active"] and "required" in changes):
        return "on" if changes["active"] else "off"
    if "required" in changes:
        return "required" if changes["required"] else "optional"
    return "creates" if changes["creates_users"] else "invites"


class Identity(models.Model):
    """The link between a user and the `sub` by which a provider names that user."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    provider = models.ForeignKey(
        IdentityProvider,
        models.CASCADE,
        related_name="identities",
        db_column="connection_id",
        editable=False,
    )
    user = models.ForeignKey(User, models.CASCADE, related_name="identities", editable=False)
    sub = models.CharField("subject", max_length=MAX_SUBJECT, editable=False)
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)

    class Meta:
        db_table = "accounts_identity"
        ordering = ["created_at"]
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(fields=["provider", "sub"], name="identity_sub"),
            models.UniqueConstraint(fields=["provider", "user"], name="identity_user"),
            models.CheckConstraint(condition=~Q(sub=""), name="identity_sub_given"),
        ]

    def __str__(self) -> str:
        return self.sub


class ProviderMetadataManager(models.Manager["ProviderMetadata"]):
    def store(self, provider: IdentityProvider, document: dict[str, Any]) -> "ProviderMetadata":
        """Store the `metadata` and `keys` in `document` in place of those stored before, and return
        the row. Raises IdentityProvider.DoesNotExist if the provider was removed."""
        now = timezone.now()
        # For a token with an unknown key, the keys may be read again at once.
        values = document | {"metadata_read_at": now, "keys_read_at": now - KEYS_MIN_AGE}
        with transaction.atomic():
            IdentityProvider.objects.select_for_update().get(pk=provider.pk)
            return self.update_or_create(provider=provider, defaults=values)[0]

    def get_or_discover(self, provider: IdentityProvider) -> "ProviderMetadata":
        """Return the stored metadata and keys. If none are stored for the provider's issuer, fetch
        them, for up to 10 seconds. Raises ProviderFailed without a usable answer, Refusal (BUSY),
        or IdentityProvider.DoesNotExist if the provider was removed meanwhile."""
        stored_metadata = self.filter(provider=provider, metadata__issuer=provider.issuer).first()
        return stored_metadata or self.store(provider, openid.discover_provider(provider.issuer))


class ProviderMetadata(models.Model):
    """A provider's metadata, as `openid.fetch_metadata` returns them, and its public keys (JWKs).
    All processes share this copy."""

    provider = models.OneToOneField(
        IdentityProvider,
        models.CASCADE,
        primary_key=True,
        related_name="+",
        db_column="connection_id",
        editable=False,
    )
    metadata = models.JSONField(default=dict, editable=False)
    metadata_read_at = models.DateTimeField(default=timezone.now, editable=False)
    keys = models.JSONField(default=list, editable=False)
    keys_read_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ProviderMetadataManager()

    class Meta:
        db_table = "sso_provider"

    def __str__(self) -> str:
        return str(self.metadata.get("issuer", ""))

    def refresh_daily(self) -> None:
        """Fetch metadata and keys again if the metadata are a day old, since the provider may have
        withdrawn a key. If that fails, the old ones stay for another day, and no error is raised.
        """
        with suppress(errors.Refusal):
            self.refresh_if_older("metadata_read_at", METADATA_MAX_AGE)

    def find_key(self, kid: str | None, algorithm: str) -> jwt.PyJWK:
        """Return the key for a token with this `alg` and `kid`; without one (None), it must be the
        provider's only key. If no stored key fits or the token has no `kid`, fetch the keys first,
        at most once in KEYS_MIN_AGE: without a `kid`, a replaced key would go unnoticed. Raises
        ProviderFailed if no key fits then or they can't be fetched, Refusal (BUSY) for too many
        calls, or ProviderMetadata.DoesNotExist if the provider was removed meanwhile."""
        key = openid.find_key(self.keys, kid, algorithm)
        if key is None or kid is None:
            self.refresh_keys()
            key = openid.find_key(self.keys, kid, algorithm)
        if key is None:
            raise errors.ProviderFailed("unknown key")
        return key

    def refresh_keys(self) -> None:
        """Fetch the keys again, or if another request has begun to in the last KEYS_MIN_AGE, load
        those stored now. Raises ProviderFailed without a usable answer, Refusal (BUSY), or
        ProviderMetadata.DoesNotExist if the provider was removed meanwhile."""
        if not self.refresh_if_older("keys_read_at", KEYS_MIN_AGE):
            self.refresh_from_db(fields=["keys"])

    def refresh_if_older(
        self, field: Literal["metadata_read_at", "keys_read_at"], age: timedelta
    ) -> bool:
        """Fetch and store metadata and keys again if the time in `field` is longer ago than `age`,
        or in the future because a host's clock was wrong. Returns whether this request has done so:
        of several requests, one UPDATE of `field` lets one fetch. Raises ProviderFailed without a
        usable answer, or Refusal (BUSY); then a next call with `field` fetches after `age`."""
        now = timezone.now()
        rows = ProviderMetadata.objects.filter(pk=self.pk)
        if not rows.exclude(**{f"{field}__range": (now - age, now)}).update(**{field: now}):
            return False
        document = openid.discover_provider(self.metadata["issuer"])
        # Those of another issuer may have been stored meanwhile.
        rows.filter(metadata__issuer=self.metadata["issuer"]).update(**document)
        vars(self).update(document)
        return True
