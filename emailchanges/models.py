"""Links about a user's e-mail address: one to the new address changes it, one to the old address
undoes the change.

Code that changes an address or these links locks the user's row first, so that changes and erasures
run one after another, without deadlocks.
"""

from copy import copy
from datetime import timedelta
from typing import Any, cast

from django.db import models, transaction
from django.db.models import Q
from django.utils import timezone
from rest_framework.exceptions import NotAuthenticated

import audit
from accounts import providers
from accounts.errors import EmailFromProvider, EmailTaken
from accounts.models import User
from audit.actors import Actor
from audit.models import AuditEvent, Kind
from base.emails import CanonicalEmailField
from mail.errors import InvalidLink, LinkOfAnotherUser
from mail.links import UserLink
from mail.outbox import OutgoingMail

EVENT_KINDS = [Kind.EMAIL_CHANGE_REQUESTED, Kind.EMAIL_CHANGE_CANCELLED]
EVENT_KINDS += [Kind.EMAIL_CHANGED, Kind.EMAIL_CHANGE_UNDONE]


def require_unmanaged_address(user: User, email: str) -> None:
    """Raise EmailFromProvider if the user must sign in at the company's provider, or would have to
    with `email` as the address: a person who has that address there could keep the account."""
    changed_user = copy(user)
    changed_user.email = email
    if user.must_use_provider or providers.rules.must_be_used_by(changed_user):
        raise EmailFromProvider


class EmailChange(UserLink):
    """A link that changes a user's address to `email`. It ends when the user's sessions end, so
    that a new password also ends what was requested with the old one, and when the user cancels it.

    There is no link to an address that another user has. So what users are shown and cancel is the
    request's audit event, which looks alike for taken and free addresses.
    """

    page = "change-email"
    mail_name = "email_change"
    seconds_setting = "PASSWORD_CHANGE_SECONDS"

    old_email = CanonicalEmailField("old e-mail address", editable=False)
    token_version = models.PositiveBigIntegerField(
        null=True, editable=False, help_text="The user's at that time; empty for older rows."
    )

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "e-mail change"

    @classmethod
    def request_link(cls, user: User, email: str) -> None:
        """Request a link to the new address `email`, record that, and queue a notice to the old
        one. The worker finds out whether the new address is taken. If `request_mail` drops the
        request, as one of too many, this does nothing. The caller has checked `email` by
        `new_email`, and re-authenticated the user, or found the address in `waiting_request`.

        Raises EmailFromProvider if the user must sign in at the company's provider, or would have
        to with the new address, and NotAuthenticated if the user was erased, was signed out or got
        another address since `user` was loaded."""
        require_unmanaged_address(user, email)
        with transaction.atomic():
            version = user.token_version
            unchanged = User.objects.filter(pk=user.pk, email=user.email, token_version=version)
            if not unchanged.select_for_update().exists():
                raise NotAuthenticated
            context = {"user": str(user.pk), "old": user.email, "token_version": version}
            if OutgoingMail.objects.request_mail(cls, email, user.language, context, str(user.pk)):
                audit.record(Kind.EMAIL_CHANGE_REQUESTED, actor=user, new=email)
                user.send_notice("email_change_requested", new=email)

    @classmethod
    def waiting_request(cls, user: User) -> AuditEvent | None:
        """The event of the user's newest request, with the new address, taken or not, as its detail
        `new`. None if the user has made no request within the lifetime of a link, or if it was
        cancelled or confirmed, a change was undone or the user's sessions have ended since."""
        since = max(user.signed_out_at, timezone.now() - cls.lifetime())
        events = AuditEvent.objects.filter(actor_id=user.pk, kind__in=EVENT_KINDS, at__gt=since)
        event = events.order_by("-pk").first()
        return event if event and event.kind == Kind.EMAIL_CHANGE_REQUESTED else None

    @classmethod
    def cancel_request(cls, user: User) -> None:
        """Cancel every change of address that the user has requested, and record that, if one waits
        to be confirmed. Waits for a transaction that is redeeming its link."""
        with transaction.atomic():
            User.objects.select_for_update().filter(pk=user.pk).exists()
            if cls.waiting_request(user):
                audit.record(Kind.EMAIL_CHANGE_CANCELLED, actor=user)

    def is_cancelled(self) -> bool:
        """Whether the user has cancelled since the newest request for this address."""
        request = Q(kind=Kind.EMAIL_CHANGE_REQUESTED, detail__new=self.email)
        events = AuditEvent.objects.filter(
            Q(kind=Kind.EMAIL_CHANGE_CANCELLED) | request, actor_id=self.user_id
        )
        event = events.order_by("-pk").first()
        return event is not None and event.kind == Kind.EMAIL_CHANGE_CANCELLED

    @classmethod
    def for_mail(cls, mail: OutgoingMail) -> "EmailChange | None":
        """Store the link for a mail that `request_link` has requested, and return it. None if the
        new address is taken, or if the user has cancelled, was signed out, deactivated or erased,
        or got another address since the request."""
        context: Any = mail.context
        link = cls(user_id=context["user"], email=mail.email, language=mail.language)
        link.old_email, link.token_version = context["old"], context["token_version"]
        if not link.query_user().exists() or link.is_cancelled():
            return None
        if User.objects.filter(email=mail.email).exists():
            return None
        link.save(force_insert=True)
        return link

    @classmethod
    def delete_mails_of(cls, users: list[User]) -> None:
        """Delete the mails to new addresses that these users have entered, which may be other
        people's, but for dropped ones, which name no user any more. Call it before the users are
        deleted, in the same transaction."""
        links = cls.objects.filter(user__in=users).values("pk")
        OutgoingMail.objects.filter(link_id__in=links).delete()
        requests = OutgoingMail.objects.filter(kind=cls._meta.label_lower)
        requests.filter(context__user__in=[str(user.pk) for user in users]).delete()

    def query_user(self) -> models.QuerySet[User]:
        """The link's user; empty if the user is inactive or erased, got another address or was
        signed out since the request."""
        unchanged = {"email": self.old_email, "token_version": self.token_version}
        users = User.objects.filter(pk=self.user_id, is_active=True, **unchanged)
        return cast(models.QuerySet[User], users)

    def redeem(self, actor: Actor) -> None:
        """Use the link up, change the user's address, and queue a mail to the old one with a link
        that undoes the change. Sessions go on; lockouts and open links of the old address end.

        Raises LinkOfAnotherUser if the actor is not the user who requested the link: if someone
        enters your address, you must not give it to their account by opening the link. Raises
        InvalidLink if the link was used or has expired, or if the user cancelled, was signed out,
        deactivated or erased, or got another address since the request; EmailFromProvider if the
        user must sign in at the company's provider, or would have to with the new address; and
        EmailTaken if another user has that."""
        if actor.pk != self.user_id:
            raise LinkOfAnotherUser
        with transaction.atomic():
            user = self.query_user().select_for_update().first()
            if user is None or self.is_cancelled():
                raise InvalidLink
            self.use()
            require_unmanaged_address(user, self.email)
            user.change_address(user, self.email)
            addresses = {"email": self.old_email, "new_email": self.email}
            undo = UndoEmailChange.objects.create(user=user, language=user.language, **addresses)
            OutgoingMail.objects.queue_link(undo)

    def mail_context(self) -> dict[str, object]:
        return super().mail_context() | {"old": self.old_email}


class UndoEmailChange(UserLink):
    """A link that restores the address to which it was mailed. Later changes by the user don't end
    it, since an attacker could change the address twice."""

    page = "undo-email-change"
    mail_name = "email_changed"
    only_for_registered = True
    waits_for_budget = False  # it protects the account
    ends_on_email_change = False

    new_email = CanonicalEmailField("new e-mail address", editable=False)

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "undo link for an e-mail change"
        verbose_name_plural = "undo links for e-mail changes"

    @classmethod
    def lifetime(cls) -> timedelta:
        return timedelta(days=7)

    def redeem(self) -> None:
        """Use the link up, and restore the address to which it was mailed. Ends all sessions, the
        lockouts and open links of the present address, and the user's links that change the
        address or undo a later change. Raises InvalidLink if the link was used or has expired, if
        the user was erased, or if another user has the address, and EmailFromProvider if the user
        must sign in at the company's provider."""
        with transaction.atomic():
            user = User.objects.select_for_update().filter(pk=self.user_id).first()
            if user is None:
                raise InvalidLink
            self.use()
            if user.must_use_provider:
                raise EmailFromProvider
            UndoEmailChange.objects.filter(user=user, created_at__gt=self.created_at).end_all()
            EmailChange.objects.filter(user=user).end_all()
            try:
                user.change_address(user, self.email, undoes=True)
            except EmailTaken:
                raise InvalidLink from None

    def mail_context(self) -> dict[str, object]:
        return super().mail_context() | {"new": self.new_email}
