"""Record: one line of the audit log. Lines are added and, when old, pruned; never changed."""

from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connections, models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from audit.origin import LONGEST_CLAIM
from audit.pruning import delete_in_batches

PATTERN = "varchar_pattern_ops"  # lets PostgreSQL find prefixes; other databases ignore it


class Kind(models.TextChoices):
    """Kinds of events. The values are stored, logged and exported: never rename one."""

    SIGNUP_COMPLETED = "signup.completed", _("signed up")
    LOGIN_SUCCEEDED = "login.succeeded", _("signed in")
    LOGIN_FAILED = "login.failed", _("failed to sign in")
    LOGIN_LOCKED = "login.locked", _("met a lock")
    LOGOUT_EVERYWHERE = "logout.everywhere", _("signed out everywhere")
    PROFILE_CHANGED = "profile.changed", _("profile changed")
    PASSWORD_CHANGED = "password.changed", _("password changed")
    PASSWORD_LINK_REQUESTED = "password.link", _("password link requested")
    EMAIL_CHANGE_REQUESTED = "email.link", _("e-mail change requested")
    EMAIL_CHANGED = "email.changed", _("e-mail address changed")
    EMAIL_CHANGE_UNDONE = "email.undone", _("e-mail change undone")
    INVITATION_CREATED = "invitation.created", _("invited")
    INVITATION_RESENT = "invitation.resent", _("invitation sent again")
    INVITATION_REVOKED = "invitation.revoked", _("invitation revoked")
    INVITATION_ACCEPTED = "invitation.accepted", _("invitation accepted")
    FACTOR_ADDED = "factor.added", _("second factor added")
    FACTOR_RENAMED = "factor.renamed", _("second factor renamed")
    FACTOR_REMOVED = "factor.removed", _("second factor removed")
    FACTORS_RESET = "factor.reset", _("second factors reset")
    RECOVERY_CODES_MADE = "factor.codes", _("recovery codes made")
    RECOVERY_CODE_USED = "factor.code_used", _("recovery code used")
    CODES_STOPPED = "factor.stopped", _("app's codes stopped")
    PASSKEY_COUNT_FELL = "factor.count", _("passkey's count went back")
    ROLE_CHANGED = "user.role", _("role changed")
    DEACTIVATED = "user.deactivated", _("deactivated")
    ACTIVATED = "user.activated", _("activated")
    ASSISTANT_LET_IN = "assistant.let_in", _("assistant let in")
    ASSISTANT_ENDED = "assistant.ended", _("assistant's access ended")
    ASSISTANT_ELSEWHERE = "assistant.elsewhere", _("assistant's token came from two addresses")
    COMPANY_CREATED = "company.created", _("company created")
    COMPANY_CHANGED = "company.changed", _("company changed")
    COMPANY_DELETED = "company.deleted", _("company deleted")
    DATA_EXPORTED = "person.exported", _("person's data exported")
    ERASED = "person.erased", _("person erased")
    LOCK_SET = "lock.set", _("locked")
    LOCK_CLEARED = "lock.cleared", _("lock cleared")
    UNLOCKED_BY_MAIL = "lock.mailed", _("unlocked by mail")
    DEVICE_KNOWN = "device.known", _("device made known")
    DEVICE_FORGOTTEN = "device.forgotten", _("device forgotten")
    LIMITS_CLEARED = "limits.cleared", _("request counters cleared")
    KEY_PUBLISHED = "key.published", _("signing key published")
    KEY_REMOVED = "key.removed", _("signing key removed")
    MAIL_RETRIED = "mail.retried", _("mail tried again")
    ADMIN_ADDED = "admin.added", _("added in the admin site")
    ADMIN_CHANGED = "admin.changed", _("changed in the admin site")
    ADMIN_DELETED = "admin.deleted", _("deleted in the admin site")
    EXPORTED = "audit.exported", _("audit log exported")
    RESTORED = "database.restored", _("database restored")


def kinds() -> list[tuple[str, Any]]:
    """The choices, which are no part of the database: a new kind needs no migration."""
    return Kind.choices


class Person(Protocol):
    """What the audit log needs to know of an actor; users have it."""

    @property
    def pk(self) -> UUID: ...

    @property
    def email(self) -> str: ...

    @property
    def account_id(self) -> UUID: ...


class RecordQuerySet(models.QuerySet["Record"]):
    def prune_before(self, before: datetime) -> int:
        """Delete the records older than `before`; returns their number. PostgreSQL refuses every
        other DELETE (migration 0002)."""
        old = self.filter(at__lt=before)
        return delete_in_batches(old, self.allow_deleting)

    def prune(self) -> int:
        """Delete records older than AUDIT_KEEP_DAYS."""
        return self.prune_before(timezone.now() - timedelta(days=settings.AUDIT_KEEP_DAYS))

    def allow_deleting(self) -> None:
        """Let this transaction, and no other, delete records."""
        connection = connections[self.db]
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL audit.pruning = 'on'")


class Record(models.Model):
    """Who did what to whom, when and from where. No foreign keys: it outlives the rows it names."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=40, choices=kinds)
    at = models.DateTimeField("time", default=timezone.now)
    actor_id = models.UUIDField("who (id)", null=True)
    actor_email = models.CharField("who", max_length=254, blank=True)
    subject_id = models.UUIDField("whom or what (id)", null=True)
    subject = models.CharField("whom or what", max_length=254, blank=True)
    account_id = models.UUIDField("company (id)", null=True)
    address = models.CharField(max_length=60, blank=True)
    agent = models.CharField("program, as it calls itself", max_length=LONGEST_CLAIM, blank=True)
    request_id = models.CharField("request", max_length=64, blank=True, db_default="")
    shell_user = models.CharField("who, at the shell", max_length=64, blank=True, db_default="")
    detail = models.JSONField(default=dict, encoder=DjangoJSONEncoder)

    objects = RecordQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-id"]
        verbose_name = "audit record"
        indexes = [
            models.Index(fields=["at"], name="audit_at"),
            models.Index(fields=["kind", "at"], name="audit_kind"),
            models.Index(
                fields=["subject", "id"], name="audit_named", opclasses=[PATTERN, "int8_ops"]
            ),
            models.Index(fields=["actor_email"], name="audit_actor", opclasses=[PATTERN]),
            models.Index(fields=["address"], name="audit_address", opclasses=[PATTERN]),
            models.Index(fields=["account_id", "at"], name="audit_company"),
            models.Index(fields=["actor_id", "id"], name="audit_by"),
            models.Index(fields=["subject_id", "id"], name="audit_about"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.subject or self.actor_email}"
