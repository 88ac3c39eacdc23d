"""Changing an e-mail address: a link to the new one makes the change, one to the old one undoes it.

Code that changes a user's address or these links locks the user's row first, so that changes and
erasures run one after another, without deadlocks.
"""

from copy import copy
from datetime import timedelta
from typing import cast

from django.db import models, transaction
from rest_framework.exceptions import NotAuthenticated

import audit
from accounts import providers
from accounts.errors import EmailFromProvider, EmailTaken
from accounts.models import User
from audit.actors import Actor
from audit.models import Kind
from base.emails import CanonicalEmailField
from mail.errors import InvalidLink, LinkOfAnotherUser
from mail.links import UserLink
from mail.outbox import OutgoingMail


def require_own_address(user: User, email: str) -> None:
    """Raise EmailFromProvider if the user must use the company's provider, or would have to with
    this address: whoever has it there could keep the account, which no link would give back."""
    moved = copy(user)
    moved.email = email
    if user.must_use_provider or providers.rules.must_be_used_by(moved):
        raise EmailFromProvider


class EmailChange(UserLink):
    """A link that changes a user's address to `email`. It ends with the session that requested it:
    a new password also ends links that were requested with the old one."""

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
        """Queue a link to the new address and a notice to the old one. The worker finds out
        whether the address is taken, so the answer does not depend on it."""
        require_own_address(user, email)
        with transaction.atomic():
            version = user.token_version
            same = User.objects.filter(pk=user.pk, email=user.email, token_version=version)
            if not same.select_for_update().exists():
                raise NotAuthenticated  # erased or signed out just now, or of another address
            about = {"user": str(user.pk), "old": user.email, "token_version": version}
            if OutgoingMail.objects.request_mail(cls, email, user.language, about, str(user.pk)):
                audit.record(Kind.EMAIL_CHANGE_REQUESTED, actor=user, new=email)
                user.send_notice("email_change_requested", new=email)

    @classmethod
    def for_mail(cls, mail: OutgoingMail) -> "EmailChange | None":
        """A new link; None if the address is taken or the user has changed meanwhile."""
        about = mail.context or {}
        link = cls(user_id=about["user"], email=mail.email, language=mail.language)
        link.old_email, link.token_version = about["old"], about["token_version"]
        if not link.of_user().exists() or User.objects.filter(email=mail.email).exists():
            return None
        link.save(force_insert=True)
        return link

    @classmethod
    def delete_mails_of(cls, users: list[User]) -> None:
        """Delete the mails to the addresses that these users asked for, which may be others'."""
        links = cls.objects.filter(user__in=users).values("pk")
        OutgoingMail.objects.filter(link_id__in=links).delete()
        requests = OutgoingMail.objects.still_waiting().filter(kind=cls._meta.label_lower)
        requests.filter(context__user__in=[str(user.pk) for user in users]).delete()

    def of_user(self) -> models.QuerySet[User]:
        """The link's user, if active, with the address and in the sessions of the request."""
        request = {"email": self.old_email, "token_version": self.token_version}
        users = User.objects.filter(pk=self.user_id, is_active=True, **request)
        return cast(models.QuerySet[User], users)

    def redeem(self, actor: Actor) -> None:
        """Use the link up, change the address, and mail the old one a link that undoes the change.
        Raises InvalidLink, EmailFromProvider or EmailTaken, and then changes nothing.

        Raises LinkOfAnotherUser unless the actor requested it: a stranger who requests your address
        must not get it because you open the link.
        """
        if actor.pk != self.user_id:
            raise LinkOfAnotherUser
        with transaction.atomic():
            user = self.of_user().select_for_update().first()
            if user is None:
                raise InvalidLink
            self.use()
            require_own_address(user, self.email)
            user.change_address(user, self.email)
            addresses = {"email": self.old_email, "new_email": self.email}
            undo = UndoEmailChange.objects.create(user=user, language=user.language, **addresses)
            OutgoingMail.objects.queue_link(undo)

    def mail_context(self) -> dict[str, object]:
        return super().mail_context() | {"old": self.old_email}


class UndoEmailChange(UserLink):
    """A link that restores the address that it was mailed to. Later changes don't end it, since an
    attacker may change the address twice."""

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
        """Use the link up, restore the address, and end all later links. Raises EmailFromProvider,
        or InvalidLink, also if another user has the address now."""
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
