"""Record: one line of the audit trail. Lines are added and, when old, pruned; never changed."""

from datetime import datetime, timedelta

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connections, models
from django.utils import timezone

from audit.budget import Budget
from audit.origin import LONGEST_CLAIM
from audit.pruning import delete_in_batches

PATTERN = "varchar_pattern_ops"  # lets PostgreSQL find prefixes; other databases ignore it


class Kind(models.TextChoices):
    """What has happened. The values are stored, logged and exported: never rename one."""

    SIGNUP_COMPLETED = "signup.completed", "signed up"
    LOGIN_SUCCEEDED = "login.succeeded", "signed in"
    LOGIN_FAILED = "login.failed", "failed to sign in"
    LOGIN_LOCKED = "login.locked", "met a lock"
    LOGOUT_EVERYWHERE = "logout.everywhere", "signed out everywhere"
    PROFILE_CHANGED = "profile.changed", "profile changed"
    PASSWORD_CHANGED = "password.changed", "password changed"
    PASSWORD_LINK_REQUESTED = "password.link", "password link requested"
    INVITATION_CREATED = "invitation.created", "invited"
    INVITATION_RESENT = "invitation.resent", "invitation sent again"
    INVITATION_REVOKED = "invitation.revoked", "invitation revoked"
    INVITATION_ACCEPTED = "invitation.accepted", "invitation accepted"
    FACTOR_ADDED = "factor.added", "second factor added"
    FACTOR_RENAMED = "factor.renamed", "second factor renamed"
    FACTOR_REMOVED = "factor.removed", "second factor removed"
    FACTORS_RESET = "factor.reset", "second factors reset"
    RECOVERY_CODES_MADE = "factor.codes", "recovery codes made"
    RECOVERY_CODE_USED = "factor.code_used", "recovery code used"
    CODES_STOPPED = "factor.stopped", "app's codes stopped"
    PASSKEY_COUNT_FELL = "factor.count", "passkey's count went back"
    ROLE_CHANGED = "user.role", "role changed"
    DEACTIVATED = "user.deactivated", "deactivated"
    ACTIVATED = "user.activated", "activated"
    ASSISTANT_LET_IN = "assistant.let_in", "assistant let in"
    ASSISTANT_ENDED = "assistant.ended", "assistant's access ended"
    COMPANY_CREATED = "company.created", "company created"
    COMPANY_CHANGED = "company.changed", "company changed"
    LOCK_SET = "lock.set", "locked"
    LOCK_CLEARED = "lock.cleared", "lock cleared"
    UNLOCKED_BY_MAIL = "lock.mailed", "unlocked by mail"
    DEVICE_KNOWN = "device.known", "device made known"
    LIMITS_CLEARED = "limits.cleared", "request counters cleared"
    KEY_PUBLISHED = "key.published", "signing key published"
    KEY_REMOVED = "key.removed", "signing key removed"
    MAIL_RETRIED = "mail.retried", "mail tried again"
    ADMIN_ADDED = "admin.added", "added in the admin site"
    ADMIN_CHANGED = "admin.changed", "changed in the admin site"
    ADMIN_DELETED = "admin.deleted", "deleted in the admin site"
    EXPORTED = "audit.exported", "audit trail exported"


# One person's records of a kind in an hour. What is beyond is in the log alone.
PER_HOUR = {Kind.PROFILE_CHANGED: 30}
PER_HOUR_OF_OTHERS = 300
# But for what costs a password's hash or a mailed link each time, which is bound enough, and what
# staff do in the back office: nobody may hide an act there behind three hundred others.
UNCOUNTED = {
    Kind.SIGNUP_COMPLETED,
    Kind.LOGIN_SUCCEEDED,
    Kind.LOGIN_FAILED,
    Kind.PASSWORD_CHANGED,
    Kind.INVITATION_ACCEPTED,
    Kind.ASSISTANT_LET_IN,
    Kind.UNLOCKED_BY_MAIL,
    Kind.DEVICE_KNOWN,
    Kind.MAIL_RETRIED,
    Kind.ADMIN_ADDED,
    Kind.ADMIN_CHANGED,
    Kind.ADMIN_DELETED,
    Kind.EXPORTED,
}


class RecordBudget(Budget):
    """The records of one kind that one person has brought about in the present hour."""


class RecordQuerySet(models.QuerySet["Record"]):
    def prune_before(self, before: datetime) -> int:
        """Delete the records older than `before`; how many. PostgreSQL refuses every other DELETE
        (migration 0002)."""
        return delete_in_batches(self.filter(at__lt=before), self.allow_deleting)

    def prune(self) -> int:
        """Delete what is older than AUDIT_KEEP_DAYS."""
        return self.prune_before(timezone.now() - timedelta(days=settings.AUDIT_KEEP_DAYS))

    def allow_deleting(self) -> None:
        """Let this transaction, and no other, delete records."""
        connection = connections[self.db]
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL audit.pruning = 'on'")


class Record(models.Model):
    """Who did what to whom, when and from where. No foreign keys: it outlives what it tells of."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=40, choices=Kind.choices)
    at = models.DateTimeField("time", default=timezone.now)
    actor_id = models.UUIDField("who (id)", null=True)
    actor_email = models.CharField("who", max_length=254, blank=True)
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
            models.Index(fields=["subject"], name="audit_subject", opclasses=[PATTERN]),
            models.Index(fields=["actor_email"], name="audit_actor", opclasses=[PATTERN]),
            models.Index(fields=["address"], name="audit_address", opclasses=[PATTERN]),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.subject or self.actor_email}"
