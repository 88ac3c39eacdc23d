"""A company's own identity provider (OpenID Connect), its mail domains, and its users there."""

import secrets
import uuid

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone

from accounts.models.companies import Account
from base.emails import canonical_email
from base.secret_key import fernet

PURPOSE = "sso.secret"
LONGEST_ISSUER, LONGEST_CLIENT, LONGEST_SUB, LONGEST_DOMAIN = 500, 255, 255, 253


def canonical_domain(name: str) -> str:
    """A mail domain in lower case and ASCII. Raises ValidationError."""
    try:
        return canonical_email(f"x@{name}").partition("@")[2]
    except ValidationError:
        raise ValidationError("Enter a domain such as example.com.") from None


def domain_of(email: str) -> str:
    """The domain of a canonical address."""
    return email.rpartition("@")[2]


def make_record_token() -> str:
    return secrets.token_urlsafe(32)


class DomainQuerySet(models.QuerySet["Domain"]):
    def find_proved(self, email: str) -> "Domain | None":
        """The proved domain of a canonical address, with its company and connection."""
        found = self.filter(name=domain_of(email), proved_at__isnull=False)
        return found.select_related("account__connection").first()

    def covers(self, account_id: uuid.UUID, email: str) -> bool:
        """Whether the company has proved the domain of a canonical address."""
        found = self.filter(account=account_id, name=domain_of(email))
        return found.filter(proved_at__isnull=False).exists()


class Domain(models.Model):
    """A mail domain of a company. One company can prove it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(
        Account, models.CASCADE, related_name="domains", verbose_name="company", editable=False
    )
    name = models.CharField(max_length=LONGEST_DOMAIN, editable=False)
    token = models.CharField(max_length=64, default=make_record_token, editable=False)
    proved_at = models.DateTimeField("proved", null=True, editable=False)
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)

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
    def record_name(self) -> str:
        return f"_consulting-management.{self.name}"

    @property
    def record_value(self) -> str:
        return f"consulting-management={self.token}"


class ConnectionQuerySet(models.QuerySet["Connection"]):
    pass


class Connection(models.Model):
    """A company's provider. Its id is the company's, so that the redirect URI is known before.

    `tested_at` is of the present issuer, client and secret, which date from `configured_at`.
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
    configured_at = models.DateTimeField("set up", default=timezone.now, editable=False)
    tested_at = models.DateTimeField("tested", null=True, editable=False)
    stopped_at = models.DateTimeField("switched off by operators", null=True, editable=False)
    last_problem = models.CharField(max_length=40, blank=True, editable=False)
    last_problem_at = models.DateTimeField(null=True, editable=False)

    objects = ConnectionQuerySet.as_manager()

    class Meta:
        ordering = ["account__name", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(active=False) | Q(tested_at__gte=F("configured_at")),
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
        return redirect_uri_of(self.pk)

    @property
    def secret(self) -> str:
        """The client secret. Raises InvalidToken under a lost SECRET_KEY."""
        plain = fernet(PURPOSE).decrypt(self.encrypted_secret)
        return plain.removeprefix(self.pk.bytes).decode()

    @secret.setter
    def secret(self, value: str) -> None:
        plain = self.pk.bytes + value.encode()  # useless in another row
        self.encrypted_secret = fernet(PURPOSE).encrypt(plain).decode()

    def record_test(self) -> bool:
        """Note that a round trip with the issuer, client and secret of this instance succeeded.
        Returns False if they were changed meanwhile."""
        same = Connection.objects.filter(pk=self.pk, configured_at=self.configured_at)
        return bool(same.update(tested_at=timezone.now(), last_problem=""))

    def record_problem(self, problem: str) -> None:
        """Keep the last problem, a short word, for admins and operators."""
        found = Connection.objects.filter(pk=self.pk)
        found.update(last_problem=problem[:40], last_problem_at=timezone.now())


def redirect_uri_of(connection_id: uuid.UUID) -> str:
    return f"{settings.SERVICE_URL}/auth/sso/{connection_id}/callback"


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
