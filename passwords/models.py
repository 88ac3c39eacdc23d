"""Password changes: links with which users set a new password, by e-mail."""

import math
from datetime import datetime
from typing import ClassVar, cast

from django.conf import settings
from django.db import models, transaction
from rest_framework.exceptions import NotAuthenticated

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
        """Store a link to the user, queue its mail, and record that; no limit of requests applies.
        The caller has checked that the user `may_sign_in_here`, and the actor's role and company.
        Raises Django's PermissionDenied if the user is protected, unless the actor is that user or
        a superuser."""
        if actor != user:
            actor.require_can_manage(user)
        with transaction.atomic():
            OutgoingMail.objects.queue_link(self.make_link(user))
            audit.record(Kind.PASSWORD_LINK_REQUESTED, actor=actor, subject=user)

    def request_for(self, user: User, actor: Actor) -> None:
        """Request a mail with a link to the user, and record that. The worker sends none to a user
        who is inactive or must use the company's provider. Beyond Budget.requests, an hourly limit
        for this actor and address, the request is recorded, but no mail is sent. The caller has
        checked the actor's role and company. Raises Django's PermissionDenied if the user is
        protected, unless the actor is that user or a superuser."""
        if actor != user:
            actor.require_can_manage(user)
        with transaction.atomic():
            context: dict[str, object] = {"is_recorded": True}
            OutgoingMail.objects.request_mail(
                PasswordChange, user.email, user.language, context, str(actor.pk)
            )
            audit.record(Kind.PASSWORD_LINK_REQUESTED, actor=actor, subject=user)

    def replace_password(self, user: User, encoded: str) -> None:
        """Store the hash of a new password of a signed-in user who has re-authenticated. Ends the
        user's sessions, connected apps and links that set a password, records the change, and
        notifies the user.
        The caller begins a new session of `user`, which gets the new token version. Raises
        NotAuthenticated if the user was deactivated, erased or signed out since `user` was loaded:
        someone who took the account back may have set another password."""
        users = User.objects.filter(pk=user.pk, token_version=user.token_version, is_active=True)
        with transaction.atomic():
            if not users.update(password=encoded, token_version=next_token_version()):
                raise NotAuthenticated
            user.refresh_from_db(fields=["password", "token_version"])
            self.filter(user=user).end_all()
            audit.record(Kind.PASSWORD_CHANGED, actor=user, in_place=True)
            user.send_notice("password_changed", in_place=True)

    def make_link(self, user: User) -> "PasswordChange":
        """Store a link to the user, and return it. The user's links whose mail was not sent yet end
        now; the last sent link works until the new one is sent."""
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
        """Store the link for a requested mail, and return it; None unless the address has an active
        user who may sign in without the company's provider. A stranger's request is recorded now,
        with its caller."""
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
        """Start the lifetime of this link at `now`, even if a newer link, which waits to be sent,
        has ended it, and end the user's other sent links. Does nothing if no link of the user waits
        for its mail: during the delivery a newer one was sent, or all were ended."""
        unused_links = PasswordChange.objects.filter(pk=self.pk, used_at=None)
        live_links = PasswordChange.objects.live().filter(user=self.user_id)
        if live_links.filter(expires_at=None).exists():
            live_links.filter(expires_at__isnull=False).exclude(pk=self.pk).update(expires_at=now)
            unused_links.update(expires_at=now + self.lifetime())

    def query_user(self) -> models.QuerySet[User]:
        """The link's user; empty if the user is inactive or has another address."""
        users = User.objects.filter(pk=self.user_id, email=self.email, is_active=True)
        return cast(models.QuerySet[User], users)

    def candidate(self) -> User:
        """The link's user. Raises InvalidLink for one who is inactive, has another address, or must
        sign in at the company's provider."""
        user = self.query_user().first()
        if user is None or not user.may_sign_in_here:
            raise InvalidLink
        return user

    def redeem(self, candidate: User) -> User:
        """Use the link up, store the password hash that the candidate has, end the user's sessions
        and connected apps, record the sign-in and notify the user, in the caller's transaction.
        Returns the user as stored now. Raises InvalidLink if the link was used or has expired, or
        the user became inactive or got another address, and SecondFactorRequired if the user has
        set up a second factor since the candidate was loaded."""
        changes = {"password": candidate.password, "token_version": next_token_version()}
        # Locks the user before the link, as other code does, against deadlocks.
        if not self.query_user().update(**changes):
            raise InvalidLink
        self.use()
        users = User.objects.with_profile().with_provider_rules().select_related("account")
        user = users.get(pk=self.user_id)
        if user.has_second_factor and not candidate.has_second_factor:
            raise SecondFactorRequired(methods=user.factors.method_names())
        user.record_sign_in(Kind.PASSWORD_CHANGED)
        user.send_notice("password_changed")
        return user
