"""Password changes: e-mailed links with which users set a new password."""

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
        """Mail a link to an active user. Raises PermissionDenied if the actor may not act on the
        user."""
        if actor != user:
            actor.require_can_manage(user)
        with transaction.atomic():
            OutgoingMail.objects.queue_link(self.make_link(user))
            audit.record(Kind.PASSWORD_LINK_REQUESTED, actor=actor, subject=user)

    def request_for(self, user: User, actor: Actor) -> None:
        """Request the mail that the user could request, within an hourly limit of the actor's own,
        beyond which it is dropped silently. Raises as `mail_to`.
        """
        if actor != user:
            actor.require_can_manage(user)
        with transaction.atomic():
            context: dict[str, object] = {"is_recorded": True}
            email, language, sender = user.email, user.language, str(actor.pk)
            OutgoingMail.objects.request_mail(PasswordChange, email, language, context, sender)
            audit.record(Kind.PASSWORD_LINK_REQUESTED, actor=actor, subject=user)

    def make_link(self, user: User) -> "PasswordChange":
        """A new link, which replaces those whose mail has not been sent yet."""
        self.filter(user=user, expires_at=None).end_all()
        link: PasswordChange = self.create(user=user, email=user.email, language=user.language)
        return link


class PasswordChange(UserLink):
    """A link that sets a user's password. Only the one in the last sent mail works."""

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
        """A new link; None for an address without an active user who may sign in by password."""
        user = User.objects.find_by_email(email=mail.email)
        if user is None or not user.may_sign_in_here:
            return None
        if not mail.context:  # not by request_for
            caller = Caller.from_json(mail.origin)
            audit.record(Kind.PASSWORD_LINK_REQUESTED, subject=user, caller=caller)
        return cls.objects.make_link(user)

    def mail_context(self) -> dict[str, object]:
        lock = math.ceil(settings.LOCKOUT_SECONDS / 60)  # minutes
        return super().mail_context() | {"lock": lock}

    def mail_was_sent(self, now: datetime) -> None:
        """Start the link's life, and end the user's older links. Until now, the link in the
        previous mail works."""
        same = PasswordChange.objects.filter(pk=self.pk, used_at=None)
        live = PasswordChange.objects.live().filter(user=self.user_id)
        if live.filter(expires_at=None).exists():  # else all were ended during the delivery
            live.filter(expires_at__isnull=False).exclude(pk=self.pk).update(expires_at=now)
            same.update(expires_at=now + self.lifetime())

    def of_user(self) -> models.QuerySet[User]:
        """The link's user, if still active and with the same address."""
        users = User.objects.filter(pk=self.user_id, email=self.email, is_active=True)
        return cast(models.QuerySet[User], users)

    def candidate(self) -> User:
        """The link's user, who is active, has the address that it was mailed to, and may sign in by
        password. Raises InvalidLink."""
        user = self.of_user().first()
        if user is None or not user.may_sign_in_here:
            raise InvalidLink
        return user

    def redeem(self, candidate: User) -> User:
        """Use the link up, and store the candidate's new password hash; every earlier session of
        the user ends. In the caller's transaction.

        Raises InvalidLink, or SecondFactorRequired if the user has set one up since the candidate
        was loaded. Locks the user's row first, as all code does that changes users and links.
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
