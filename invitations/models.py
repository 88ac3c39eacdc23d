"""Invitations: links with which a company's admins add users, by e-mail."""

from datetime import datetime
from typing import Any, ClassVar, Literal, Self
from uuid import UUID

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import F, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

import audit
from accounts import providers
from accounts.models import Account, Consultant, Role, User
from api.errors import KeyNotPermitted
from audit.actors import Actor
from audit.models import Kind
from base.emails import canonical_email
from base.text import harmless_name
from invitations import errors
from mail.budget import Budget
from mail.errors import InvalidLink
from mail.links import EmailedLink, LinkQuerySet
from mail.outbox import OutgoingMail


class Status(models.TextChoices):
    """An invitation's state. It is computed from its times, and not stored."""

    PENDING = "pending", _("pending")
    ACCEPTED = "accepted", _("accepted")
    REVOKED = "revoked", _("revoked")
    EXPIRED = "expired", _("expired")


class InvitationQuerySet(LinkQuerySet):
    def unanswered(self) -> Self:
        """Invitations neither accepted nor revoked, also expired ones."""
        return self.filter(**Invitation.open_filter)

    def in_status(self, status: Status) -> Self:
        """The invitations with this status now."""
        now = timezone.now()
        conditions = {
            Status.PENDING: Q(used_at=None, revoked_at=None, expires_at__gt=now),
            Status.ACCEPTED: Q(used_at__isnull=False),
            Status.REVOKED: Q(revoked_at__isnull=False),
            Status.EXPIRED: Q(used_at=None, revoked_at=None, expires_at__lte=now),
        }
        return self.filter(conditions[status])

    def with_mail(self) -> Self:
        """Invitations annotated with their property `mail_state`, which then makes no query."""
        return self.annotate(
            mail_state=Subquery(OutgoingMail.objects.newest_delivery(OuterRef("pk")))
        )

    def invite(
        self,
        inviter: Actor,
        email: str,
        role: str = Role.MEMBER,
        consultant_id: UUID | None = None,
        language: str | None = None,
    ) -> "Invitation":
        """Create and mail an invitation to the company of the inviter, a user or an API key, and
        return it. If `language` is None, the mail is in the inviter's language. `consultant_id` is
        a profile of the company, without a user, that the new user gets. The caller has checked
        that the inviter may invite, and validated the address by `new_email`. Raises
        InvitationRefused, UnknownConsultant, KeyNotPermitted, AuthenticationFailed, Django's
        PermissionDenied or NotFound, when `Invitation.send` does."""
        invitation = Invitation(
            account_id=inviter.account_id,
            **sent_by(inviter),
            email=email,
            role=role,
            consultant_id=consultant_id,
            language=language or inviter.language,
        )
        invitation.send(inviter)
        return invitation

    def revoke_all(self, actor: Actor) -> "list[Invitation]":
        """Revoke those of these invitations that are neither accepted nor revoked, and record each,
        in the caller's transaction. Returns them by address, without the new `revoked_at`. The
        worker drops their waiting mails. The caller has checked that the actor may revoke them."""
        invitations = list(self.unanswered().order_by("email").select_for_update())
        revoked = Invitation.objects.filter(pk__in=[invitation.pk for invitation in invitations])
        revoked.update(revoked_at=timezone.now())
        for invitation in invitations:
            invitation.record_step(Kind.INVITATION_REVOKED, actor)
        return invitations

    def revoke_sent_by(self, user: Actor, actor: Actor, **_: object) -> list[str]:
        """Revoke the open invitations that `user`, a user or an API key, has sent; returns their
        addresses. Receives the signal `stopped_inviting`."""
        return [invitation.email for invitation in self.filter(**sent_by(user)).revoke_all(actor)]

    def close_for(self, user: User, actor: Actor) -> None:
        """Revoke the company's open invitations to the user's address, in the transaction that
        gives the user this address in another way. The user may get a consultant profile of one of
        these invitations (`link_consultant`)."""
        for invitation in self.filter(account=user.account_id, email=user.email).revoke_all(actor):
            invitation.link_consultant(user)

    def delete_all_of(self, account_id: UUID) -> None:
        """Delete a company's invitations and all their mails, in the caller's transaction."""
        invitations = self.filter(account=account_id)
        OutgoingMail.objects.filter(link_id__in=invitations.values("pk")).delete()
        invitations.delete()


def sent_by(inviter: Actor) -> dict[str, Any]:
    """The field of an invitation that names its inviter, a user or an API key."""
    return {"invited_by" if isinstance(inviter, User) else "invited_by_key": inviter}


def expiry() -> datetime:
    """The expiry of an invitation that is created or sent again now."""
    return timezone.now() + Invitation.lifetime()


class Invitation(EmailedLink):
    """A link with which the owner of an address becomes a user of a company, in a role.

    Any admin of the company can revoke it or send it again. It is revoked when its inviter loses
    the right to invite. It expires INVITATION_SECONDS after it is created or sent again, whether or
    not its mail was sent.
    """

    page = "accept-invitation"
    mail_name = "invitation"
    seconds_setting = "INVITATION_SECONDS"
    ends_on_email_change = False  # it belongs to the company, not to a user
    open_filter = {"used_at": None, "revoked_at": None}

    account = models.ForeignKey(
        Account,
        models.CASCADE,
        related_name="invitations",
        verbose_name="company",
        db_index=False,  # an index below begins with this column
    )
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    consultant = models.ForeignKey(Consultant, models.SET_NULL, null=True, blank=True)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, editable=False
    )
    invited_by_key = models.ForeignKey(
        "apikeys.ApiKey",
        models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        db_index=False,
    )
    expires_at = models.DateTimeField(default=expiry, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects: ClassVar = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(used_at=None) | Q(revoked_at=None), name="invitation_one_end"
            ),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="invitation_role_known"),
        ]
        indexes = [
            models.Index("account", F("created_at").desc(), "id", name="invitation_of_company"),
            models.Index(fields=["email", "account"], name="invitation_of_address"),
            models.Index(
                fields=["invited_by_key"],
                condition=Q(invited_by_key__isnull=False),
                name="invitation_of_key",
            ),
        ]

    @property
    def status(self) -> Status:
        if self.used_at:
            return Status.ACCEPTED
        if self.revoked_at:
            return Status.REVOKED
        return Status.PENDING if self.is_live() else Status.EXPIRED

    @property
    def is_protected(self) -> bool:
        return self.account.is_protected

    def is_live(self) -> bool:
        return super().is_live() and self.revoked_at is None

    @cached_property
    def mail_state(self) -> str | None:
        """What became of the invitation's last mail: `waiting`, `sent` or `refused`. None once the
        mail is deleted."""
        return OutgoingMail.objects.newest_delivery(self.pk).first()

    def record_step(self, kind: Kind, actor: Actor) -> None:
        audit.record(
            kind, actor=actor, subject=self.email, account_id=self.account_id, role=self.role
        )

    def send(self, actor: Actor) -> None:
        """Save this new invitation, queue its mail, and record that. Locks the company's row, so
        that of several requests for one address at the same time one succeeds.

        The caller has checked that the actor may invite, and validated the address by `new_email`.
        Raises NotFound if the company was deleted, Django's PermissionDenied if it is protected and
        the actor no superuser, or if the inviting user may no longer invite to it, KeyNotPermitted
        if an API key invites an admin, AuthenticationFailed if the key has ended, UnknownConsultant
        if the profile is not the company's or has a user, or an InvitationRefused: AlreadyMember,
        CannotAccept, AlreadyInvited, MailLimitReached or InvitationLimitReached."""
        with transaction.atomic():
            account = Account.objects.lock(self.account_id)
            actor.require_can_manage(account)
            self.require_may_grant_role(actor)
            if self.invited_by_key:
                self.invited_by_key.require_live()
            if not self.inviter_may_invite(account):
                raise PermissionDenied
            if self.consultant_id and not self.free_consultants().exists():
                raise errors.UnknownConsultant
            self.count_or_refuse()
            self.save(force_insert=True)
            self.record_step(Kind.INVITATION_CREATED, actor)
            OutgoingMail.objects.queue_link(self)

    def require_may_grant_role(self, actor: Actor) -> None:
        """Raise KeyNotPermitted if an API key would make an admin, which its thief could become."""
        if self.role == Role.ADMIN and not actor.may_make_admins:
            raise KeyNotPermitted

    def inviter_may_invite(self, account: Account) -> bool:
        """Whether the user who sent the invitation may still invite to its company, which the
        caller has locked. True without such a user: support staff and commands have no rights to
        lose, and revoking an API key or erasing a user revokes their invitations."""
        if self.invited_by_id is None:
            return True
        return User.objects.filter(pk=self.invited_by_id).may_invite_to(account).exists()

    def free_consultants(self) -> models.QuerySet[Consultant]:
        """A query for the invitation's consultant profile, empty if it has none, or if that is of
        another company or has a user."""
        profile_filters = {"pk": self.consultant_id, "account": self.account_id, "user": None}
        return Consultant.objects.filter(**profile_filters)

    def link_consultant(self, user: User) -> None:
        """Link the invitation's consultant profile to a stored user of the company, unless the
        profile has a user, or the user has a profile."""
        is_needed = self.consultant_id and not user.consultant_id
        if is_needed and self.free_consultants().update(user=user):
            user.consultant_id = self.consultant_id

    def count_or_refuse(self) -> None:
        """Count one more mail of the invitation, in a transaction that has locked the company.

        Raises AlreadyMember if the address has a user in the company, CannotAccept if it has one in
        another and the company has proved its domain, AlreadyInvited if another invitation of the
        company to the address is pending, MailLimitReached after the company's
        MAIL_PER_ADDRESS_PER_HOUR to the address, or InvitationLimitReached after its
        INVITATIONS_PER_DAY. Without a proved domain no other company's user is looked up, so that
        the time tells nothing either.
        """
        email = canonical_email(self.email)  # as stored; until then as it was typed
        address = {"account": self.account_id, "email": email}
        if User.objects.filter(**address).exists():
            raise errors.AlreadyMember
        has_proved_domain = providers.rules.has_proved_domain(self.account_id, email)
        if has_proved_domain and User.objects.filter(email=email).exists():
            raise errors.CannotAccept
        other_invitations = Invitation.objects.exclude(pk=self.pk).filter(**address)
        if other_invitations.in_status(Status.PENDING).exists():
            raise errors.AlreadyInvited
        if not Budget.invitations_to(self.account_id, email).spend():
            raise errors.MailLimitReached
        if not Budget.invitations_of(self.account_id).spend():
            raise errors.InvitationLimitReached

    def resend(self, actor: Actor) -> None:
        """Replace the link by a new one with a new expiry, queue its mail, and record that. The
        caller has checked that the actor is an admin or a key of the company, or support staff.

        Raises NotFound if the company was deleted, Django's PermissionDenied if it is protected and
        the actor no superuser, KeyNotPermitted for an API key if the role is admin, or an
        InvitationRefused: InvitationClosed if the invitation was accepted, revoked or deleted,
        AlreadyMember, CannotAccept, AlreadyInvited, MailLimitReached or InvitationLimitReached."""
        with transaction.atomic():
            actor.require_can_manage(Account.objects.lock(self.account_id))
            self.require_may_grant_role(actor)
            open_invitation = Invitation.objects.unanswered().filter(pk=self.pk)
            if not open_invitation.select_for_update().exists():
                raise errors.InvitationClosed
            self.count_or_refuse()
            open_invitation.update(generation=F("generation") + 1, expires_at=expiry())
            self.record_step(Kind.INVITATION_RESENT, actor)
            OutgoingMail.objects.queue_link(self)
            self.refresh_from_db()

    def revoke(self, actor: Actor) -> None:
        """Revoke the invitation, and record that. The caller has checked that the actor is an admin
        or a key of the company, or support staff. Raises Django's PermissionDenied if the company
        is protected and the actor no superuser, and InvitationClosed if the invitation was
        accepted, revoked or deleted."""
        actor.require_can_manage(self)
        with transaction.atomic():
            if not Invitation.objects.filter(pk=self.pk).revoke_all(actor):
                raise errors.InvitationClosed

    def candidate(self, language: str | None, **names: str) -> User:
        """The unsaved user who would accept the invitation, without role and password. If
        `language` is None, the user gets the invitation's."""
        language = language or self.language
        return User(email=self.email, account_id=self.account_id, language=language, **names)

    def redeem(self, user: User) -> User:
        """Use the link up, store `user`, who is unsaved and has the invitation's address, in its
        company and role, and record the sign-in, in the caller's transaction. Returns `user`.
        Raises NotFound if the company was deleted, InvalidLink if the link was used, revoked or has
        expired or the inviter may no longer invite, and EmailTaken if any user has the address."""
        account = Account.objects.lock(self.account_id)  # see Account.change_second_factor
        self.use()
        if not self.inviter_may_invite(account):
            raise InvalidLink
        user.account, user.role = account, self.role
        user.register()
        self.link_consultant(user)
        user.record_sign_in(Kind.INVITATION_ACCEPTED, role=user.role)
        return user

    @property
    def inviter_name(self) -> str:
        """The inviting user's name, or else address; "" without an inviting user."""
        inviter = self.invited_by
        return (harmless_name(inviter.get_full_name()) or inviter.email) if inviter else ""

    def find_hindrance(self) -> Literal["taken", "provider", ""]:
        """Why a live invitation can't be accepted: "taken" if a user has the address, "provider" if
        the new user would have to sign in at the company's provider, else "". Only the owner of the
        mailbox may learn it."""
        if User.objects.filter(email=self.email).exists():
            return "taken"
        return "provider" if self.candidate(language=None).must_use_provider else ""

    def mail_was_sent(self, now: datetime) -> None:
        """Do nothing: an invitation gets its expiry when it is created or sent again."""

    def mail_context(self) -> dict[str, object]:
        """The template's context. `welcome`: the company gets its first user, an admin."""
        return super().mail_context() | {
            "welcome": self.role == Role.ADMIN
            and not User.objects.filter(account=self.account_id).exists(),
            "company": harmless_name(self.account.name),
            "inviter": self.inviter_name,
        }
