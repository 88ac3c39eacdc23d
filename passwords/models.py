"""Password changes: links with which users set a new password, by e-mail."""

import math
from datetime import datetime
from typing import ClassVar, cast

from django.conf import settings
from django.db import models, transaction

import audit
from accounts.models import User, next_token_version
from audit.actors import Actor
from audit.models import Kind
from base.caller import Caller
from mail.errors import InvalidLink
from mail.links import LinkQuerySet, UserLink
from mail.outbox import OutgoingMail
from signin.errors import SecondFactorRequired


class PasswordChangeQuerySet(LinkQuerySet):
    def mail_to(self, user: User, actor: Actor) -> None:
        """Mail a link to an active user, without a limit. Raises PermissionDenied if the actor may
        not act on the user."""
        if actor != user:
            actor.require_can_manage(user)
        with transaction.atomic():
            OutgoingMail.objects.queue_link(self.make_link(user))
            audit.record(Kind.PASSWORD_LINK_REQUESTED, actor=actor, subject=user)

    def request_for(self, user: User, actor: Actor) -> None:
        """Request the mail that users can request themselves. The actor's hourly limit counts; a
        mail beyond it is dropped. Raises PermissionDenied if the actor may not act on the user."""
        if actor != user:
            actor.require_can_manage(user)
        with transaction.atomic():
            context: dict[str, object] = {"is_recorded": True}
            OutgoingMail.objects.request_mail(
                PasswordChange, user.email, user.language, context, str(actor.pk)
            )
            audit.record(Kind.PASSWORD_LINK_REQUESTED, actor=actor, subject=user)

    def make_link(self, user: User) -> "PasswordChange":
        """Create a link, which ends those whose mail has not been sent yet."""
        self.filter(user=user, expires_at=None).end_all()
        link: PasswordChange = self.create(user=user, email=user.email, language=user.language)
        return link


class PasswordChange(UserLink):
    """A link that sets a user's password. Only the link in the user's last sent mail works."""

    page = "change-password"
    mail_name = "password_change"
    seconds_setting = "PASSWORD_CHANGE_SECONDS"
    only_for_registered = True

    objects: ClassVar = PasswordChangeQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "password change"

    @classmethod
    def for_mail(cls, mail: OutgoingMail) -> "PasswordChange | None":
        """Create a requested link. Returns None without an active user who may use a password."""
        user = User.objects.find_by_email(email=mail.email)
        if user is None or not user.may_sign_in_here:
            return None
        if not mail.context:  # else request_for has recorded it
            caller = Caller.from_json(mail.origin)
            audit.record(Kind.PASSWORD_LINK_REQUESTED, subject=user, caller=caller)
        return cls.objects.make_link(user)

    def mail_context(self) -> dict[str, object]:
        lock_minutes = math.ceil(settings.LOCKOUT_SECONDS / 60)
        return super().mail_context() | {"lock": lock_minutes}

    def mail_was_sent(self, now: datetime) -> None:
        """Set the link's expiry, and end the user's older links, which worked until now."""
        unused_links = PasswordChange.objects.filter(pk=self.pk, used_at=None)
        live_links = PasswordChange.objects.live().filter(user=self.user_id)
        if live_links.filter(expires_at=None).exists():  # else all were ended during the delivery
            live_links.filter(expires_at__isnull=False).exclude(pk=self.pk).update(expires_at=now)
            unused_links.update(expires_at=now + self.lifetime())

    def of_user(self) -> models.QuerySet[User]:
        """Return the link's user, if active and still with the link's address."""
        users = User.objects.filter(pk=self.user_id, email=self.email, is_active=True)
        return cast(models.QuerySet[User], users)

    def candidate(self) -> User:
        """Return the link's user. Raises InvalidLink if the user is inactive, has another address
        by now, or may not sign in by password."""
        user = self.of_user().first()
        if user is None or not user.may_sign_in_here:
            raise InvalidLink
        return user

    def redeem(self, candidate: User) -> User:
        """Use the link up, store the candidate's new password hash, end the user's sessions, and
        record the sign-in; returns the user. In the caller's transaction.

        Raises InvalidLink, or SecondFactorRequired if the user has set up a second factor since the
        candidate was loaded. Locks the user's row before the link, as all code does.
        """
        changes = {"password": candidate.password, "token_version": next_token_version()}
        if not self.of_user().update(**changes):
            raise InvalidLink
        self.use()
        users = User.objects.with_profile().with_provider_rules().select_related("account")
        user = users.get(pk=self.user_id)
        if user.has_second_factor and not candidate.has_second_factor:
            raise SecondFactorRequired(methods=user.factors.method_names())
        user.record_sign_in(Kind.PASSWORD_CHANGED)
        user.send_notice("password_changed")
        return user
