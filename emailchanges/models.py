"""Changing an e-mail address: a link to the new one makes the change, one to the old one undoes it.

Code that changes a user's address or these links locks the user's row first, so that changes and
erasures run one after another, without deadlocks.
"""

from datetime import timedelta
from typing import cast
from uuid import UUID

from django.db import IntegrityError, models, transaction
from django.utils import timezone
from rest_framework.exceptions import NotAuthenticated

import audit
from accounts.errors import EmailFromProvider, EmailTaken
from accounts.models import User, next_token_version
from audit.actors import Actor
from audit.models import Kind
from base.emails import CanonicalEmailField, new_email
from base.text import harmless_name
from mail.errors import InvalidLink, LinkOfAnotherUser
from mail.links import EmailedLink, UserLink
from mail.notices import Notice
from mail.outbox import OutgoingMail
from throttling.models import Lockout


def lock_user(user_id: UUID) -> User:
    """The user, locked until the transaction ends. Raises InvalidLink if they were erased."""
    user: User | None = User.objects.select_for_update().filter(pk=user_id).first()
    if user is None:
        raise InvalidLink
    return user


def set_email(user: User, email: str, actor: Actor, **changes: object) -> None:
    """Give the user another address, and end lockouts and open links of the old one.
    Sessions go on, since tokens carry no address. Raises EmailTaken.

    Call it in a transaction that has locked the user. EmailTaken breaks that transaction.
    """
    old = str(user.email)
    try:
        User.objects.filter(pk=user.pk).update(email=email, **changes)
    except IntegrityError:
        raise EmailTaken from None
    end_links(old)
    Lockout.objects.unlock(old, actor)
    user.refresh_from_db(fields=["email", *changes])


def end_links(email: str) -> None:
    """End the open links that were mailed to a former address. Links that are being used at this
    moment are skipped: their use fails, since the user has another address."""
    for model in EmailedLink.models_by_label().values():
        if model.ends_on_email_change:
            links = model._default_manager.live().filter(email=email)
            free = links.select_for_update(skip_locked=True).values_list("pk", flat=True)
            model._default_manager.filter(pk__in=list(free)).update(expires_at=timezone.now())


def require_own_address(user: User, email: str) -> None:
    """Raise EmailFromProvider if the user must use the company's provider, or would have to with
    this address: whoever has it there could keep the account, which no link would give back."""
    fields = ["account_id", "role", "keeps_password", "has_second_factor"]
    fields += ["is_staff", "is_superuser"]
    moved = User(email=email, **{name: getattr(user, name) for name in fields})
    if user.must_use_provider or moved.must_use_provider:
        raise EmailFromProvider


def change_by_operator(user: User, email: str, actor: Actor) -> None:
    """Change the address at once, and notify both; `actor` is a superuser or a command.

    Ends the user's sessions and all links, including those that undo an earlier change, since the
    user may have lost the old mailbox. Raises EmailTaken, or ValidationError for a bad address.
    """
    email = new_email(email)
    with transaction.atomic():
        user = lock_user(user.pk)
        old = str(user.email)
        if email == old:
            return
        set_email(user, email, actor, token_version=next_token_version())
        EmailedLink.end_all_of(user.pk)
        audit.record(Kind.EMAIL_CHANGED, actor=actor, subject=user, old=old)
        news = {"old": old, "new": email, "operator": True}
        for mailbox in (old, email):
            notice = Notice("email_is_changed", mailbox, user.language, news)
            OutgoingMail.objects.queue_notice(notice)


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
        user = User.objects.filter(pk=about["user"], email=about["old"], is_active=True).first()
        if user is None or User.objects.filter(email=mail.email).exists():
            return None
        version = about.get("token_version")
        link = cls(user=user, email=mail.email, old_email=user.email, token_version=version)
        if link.is_outlived_by(user):
            return None
        link.language = user.language
        link.save(force_insert=True)
        return link

    @classmethod
    def delete_mails_of(cls, users: list[User]) -> None:
        """Delete the mails to the addresses that these users asked for, which may be others'."""
        links = cls.objects.filter(user__in=users).values("pk")
        OutgoingMail.objects.filter(link_id__in=links).delete()
        requests = OutgoingMail.objects.still_waiting().filter(kind=cls._meta.label_lower)
        requests.filter(context__user__in=[str(user.pk) for user in users]).delete()

    def is_outlived_by(self, user: User) -> bool:
        """Whether the sessions from the time of the request have been ended since."""
        return self.token_version not in {None, user.token_version}

    def redeem(self, actor: Actor) -> None:
        """Use the link up, change the address and notify both; the old one gets a link that undoes
        it. Raises InvalidLink, EmailFromProvider or EmailTaken, and then changes nothing.

        Raises LinkOfAnotherUser unless the actor requested it: a stranger who requests your address
        must not get it because you open the link.
        """
        if actor.pk != self.user_id:
            raise LinkOfAnotherUser
        with transaction.atomic():
            user = lock_user(self.user_id)
            self.use()
            if user.email != self.old_email or not user.is_active or self.is_outlived_by(user):
                raise InvalidLink
            require_own_address(user, self.email)
            set_email(user, self.email, user)
            audit.record(Kind.EMAIL_CHANGED, actor=user, old=self.old_email)
            undo = UndoEmailChange(user=user, email=self.old_email, new_email=self.email)
            undo.language = user.language
            undo.save(force_insert=True)
            OutgoingMail.objects.queue_link(undo)
            user.send_notice("email_is_changed", old=self.old_email, new=self.email)

    def mail_context(self) -> dict[str, object]:
        return super().mail_context() | {"old": harmless_name(self.old_email)}


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
        """Use the link up, restore the address, and end every session and all later links. Raises
        EmailFromProvider, or InvalidLink, also if another user has the address now."""
        with transaction.atomic():
            user = lock_user(self.user_id)
            self.use()
            if user.must_use_provider:
                raise EmailFromProvider
            UndoEmailChange.objects.filter(user=user, created_at__gt=self.created_at).end_all()
            EmailChange.objects.filter(user=user).end_all()
            try:
                set_email(user, self.email, user, token_version=next_token_version())
            except EmailTaken:
                raise InvalidLink from None
            audit.record(Kind.EMAIL_CHANGE_UNDONE, actor=user, undone=self.new_email)
            user.send_notice("email_change_undone", new=self.new_email)

    def mail_context(self) -> dict[str, object]:
        return super().mail_context() | {"new": harmless_name(cast(str, self.new_email))}
