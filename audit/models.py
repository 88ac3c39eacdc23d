"""AuditEvent: who did what. Events are added, pseudonymised after an erasure, and pruned when old;
nothing else changes or deletes one."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connections, models
from django.utils import timezone

from audit.recording import MAX_AGENT_CHARACTERS
from base.batches import delete_in_batches

PREFIX_OPCLASS = "varchar_pattern_ops"  # lets PostgreSQL find prefixes; other databases ignore it


class Kind(models.TextChoices):
    """The kinds of events. Their values are stored, logged and exported, so never rename one."""

    SIGNUP_COMPLETED = "signup.completed", "signed up"
    LOGIN_SUCCEEDED = "login.succeeded", "signed in"
    LOGIN_FAILED = "login.failed", "sign-in failed"
    LOGIN_LOCKED = "login.locked", "sign-in blocked by a lockout"
    LOGOUT_EVERYWHERE = "logout.everywhere", "signed out everywhere"
    PROFILE_CHANGED = "profile.changed", "profile changed"
    PASSWORD_CHANGED = "password.changed", "password changed"
    PASSWORD_LINK_REQUESTED = "password.link", "password link requested"
    EMAIL_CHANGE_REQUESTED = "email.link", "e-mail change requested"
    EMAIL_CHANGE_CANCELLED = "email.cancelled", "e-mail change cancelled"
    EMAIL_CHANGED = "email.changed", "e-mail address changed"
    EMAIL_CHANGE_UNDONE = "email.undone", "e-mail change undone"
    INVITATION_CREATED = "invitation.created", "invitation sent"
    INVITATION_RESENT = "invitation.resent", "invitation sent again"
    INVITATION_REVOKED = "invitation.revoked", "invitation revoked"
    INVITATION_ACCEPTED = "invitation.accepted", "invitation accepted"
    FACTOR_ADDED = "factor.added", "second factor added"
    FACTOR_RENAMED = "factor.renamed", "second factor renamed"
    FACTOR_REMOVED = "factor.removed", "second factor removed"
    FACTORS_RESET = "factor.reset", "second factors reset"
    RECOVERY_CODES_MADE = "factor.codes", "recovery codes created"
    RECOVERY_CODE_USED = "factor.code_used", "recovery code used"
    CODES_STOPPED = "factor.stopped", "authenticator app blocked after wrong codes"
    PASSKEY_COUNT_FELL = "factor.count", "passkey may have been copied"
    IDENTITY_LINKED = "sso.linked", "linked to the company's provider"
    ROLE_CHANGED = "user.role", "role changed"
    DEACTIVATED = "user.deactivated", "deactivated"
    ACTIVATED = "user.activated", "reactivated"
    PROVISIONED = "user.provisioned", "provisioned by the directory"
    DEPROVISIONED = "user.deprovisioned", "removed by the directory"
    KEEPS_PASSWORD = "user.keeps_password", "password kept or given up"
    DOMAIN_ADDED = "domain.added", "domain added"
    DOMAIN_PROVED = "domain.proved", "domain proved"
    DOMAIN_REMOVED = "domain.removed", "domain removed"
    SSO_CONFIGURED = "sso.configured", "identity provider set up"
    SSO_TESTED = "sso.tested", "identity provider tested"
    SSO_CHANGED = "sso.changed", "sign-in at the provider changed"
    SSO_REMOVED = "sso.removed", "identity provider removed"
    SSO_STOPPED = "sso.stopped", "identity provider switched off by support"
    SSO_ALLOWED = "sso.allowed", "identity provider allowed again"
    API_KEY_MADE = "apikey.made", "API key made"
    API_KEY_REVOKED = "apikey.revoked", "API key revoked"
    ASSISTANT_CONNECTED = "assistant.let_in", "app connected"
    ASSISTANT_ENDED = "assistant.ended", "app disconnected"
    ASSISTANT_ELSEWHERE = "assistant.elsewhere", "app's token used from two addresses"
    COMPANY_CREATED = "company.created", "company created"
    COMPANY_CHANGED = "company.changed", "company changed"
    COMPANY_DELETED = "company.deleted", "company deleted"
    DATA_EXPORTED = "person.exported", "personal data exported"
    ERASED = "person.erased", "user erased"
    LOCK_SET = "lock.set", "address locked"
    LOCK_CLEARED = "lock.cleared", "lockout ended"
    UNLOCKED_BY_MAIL = "lock.mailed", "lockout ended by e-mailed link"
    DEVICE_KNOWN = "device.known", "device became known"
    DEVICE_FORGOTTEN = "device.forgotten", "device forgotten"
    KEY_PUBLISHED = "key.published", "signing key published"
    KEY_REMOVED = "key.removed", "signing key removed"
    MAIL_RETRIED = "mail.retried", "mail retried"
    ADMIN_ADDED = "admin.added", "added in the back office"
    ADMIN_CHANGED = "admin.changed", "changed in the back office"
    ADMIN_DELETED = "admin.deleted", "deleted in the back office"
    EXPORTED = "audit.exported", "audit log exported"
    RESTORED = "database.restored", "database restored from a backup"


def kinds() -> list[tuple[str, Any]]:
    """The choices of `AuditEvent.kind`: a function, so that a new kind needs no migration."""
    return Kind.choices


SIGN_IN_KINDS = [Kind.LOGIN_SUCCEEDED, Kind.SIGNUP_COMPLETED]
SIGN_IN_KINDS += [Kind.INVITATION_ACCEPTED, Kind.PASSWORD_CHANGED]


class AuditEventQuerySet(models.QuerySet["AuditEvent"]):
    def sign_ins_of(self, user_id: UUID) -> "AuditEventQuerySet":
        """A user's sign-ins, the newest first, without passwords changed in a session."""
        events = self.filter(actor_id=user_id, kind__in=SIGN_IN_KINDS)
        return events.exclude(detail__has_key="in_place").order_by("-pk")

    def newest_of(self, user_id: UUID, emails: set[str], limit: int) -> list["AuditEvent"]:
        """The newest events by or about a user, at most `limit`, the newest first. Events without
        a subject's id are found by `emails`, the user's canonical addresses, former ones too."""
        by_others = self.exclude(actor_id=user_id)
        queries = [self.filter(actor_id=user_id), by_others.filter(subject_id=user_id)]
        queries += [by_others.filter(subject_id=None, subject=email) for email in emails]
        events = [event for query in queries for event in query.order_by("-pk")[:limit]]
        return sorted(events, key=lambda event: event.pk, reverse=True)[:limit]

    def prune_expired(self) -> int:
        """Delete the events older than AUDIT_KEEP_DAYS; returns their number."""
        old_events = self.filter(at__lt=timezone.now() - timedelta(days=settings.AUDIT_KEEP_DAYS))
        return delete_in_batches(old_events, self.allow_deleting)

    def allow_deleting(self) -> None:
        """Let the current transaction, and no later one, delete events of over 30 days ago, which a
        trigger in PostgreSQL otherwise refuses. Other databases have no such trigger."""
        connection = connections[self.db]
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL audit.pruning = 'on'")


class AuditEvent(models.Model):
    """Who did what to whom, when and from where. It outlives the rows that it names, so it has no
    foreign keys."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=40, choices=kinds)
    at = models.DateTimeField("time", default=timezone.now)
    actor_id = models.UUIDField("actor ID", null=True)
    actor_email = models.CharField("actor", max_length=254, blank=True)
    subject_id = models.UUIDField("subject ID", null=True)
    subject = models.CharField("subject", max_length=254, blank=True)
    account_id = models.UUIDField("company ID", null=True)
    address = models.CharField("client address", max_length=60, blank=True)
    agent = models.CharField("client", max_length=MAX_AGENT_CHARACTERS, blank=True)
    request_id = models.CharField("request ID", max_length=64, blank=True, db_default="")
    shell_user = models.CharField("shell user", max_length=64, blank=True, db_default="")
    detail = models.JSONField(default=dict, encoder=DjangoJSONEncoder)

    objects = AuditEventQuerySet.as_manager()

    class Meta:
        db_table = "audit_record"  # the name in guides, and for hosts of the release before
        ordering = ["-at", "-id"]
        verbose_name = "audit event"
        indexes = [
            models.Index(fields=["at"], name="audit_at"),
            models.Index(fields=["kind", "at"], name="audit_kind"),
            models.Index(
                fields=["subject", "id"], name="audit_named", opclasses=[PREFIX_OPCLASS, "int8_ops"]
            ),
            models.Index(fields=["actor_email"], name="audit_actor", opclasses=[PREFIX_OPCLASS]),
            models.Index(fields=["address"], name="audit_address", opclasses=[PREFIX_OPCLASS]),
            models.Index(fields=["account_id", "at"], name="audit_company"),
            models.Index(fields=["actor_id", "id"], name="audit_by"),
            models.Index(fields=["subject_id", "id"], name="audit_about"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.subject or self.actor_email}"
