"""Password changes: an e-mailed link with which a user sets a new password."""

from typing import ClassVar, cast

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from accounts.exceptions import InvalidLink
from accounts.mail.links import EmailedLink, LinkQuerySet
from accounts.mail.outbox import OutgoingMail
from accounts.models import User, raised_version
from audit import trail
from audit.models import Kind


class PasswordChangeQuerySet(LinkQuerySet):
    def find(self, token: str) -> "PasswordChange":
        """The live link of an active user who still has the address it was mailed to.

        InvalidLink otherwise. `live` knows the link alone: a condition on the user there would
        make `use` look at a row that another request has just changed as it was before.
        """
        link: PasswordChange = super().find(token)
        if not link.of_user().exists():
            raise InvalidLink
        return link

    def request(self, email: str, language: str, actor: User | None = None) -> None:
        """Ask for a link to be mailed; whether the address has a user is found out by the worker.

        `actor` asks for somebody else. The queries are the same for every address.
        """
        with transaction.atomic():
            OutgoingMail.objects.request(PasswordChange, email, language)
            trail.record(Kind.PASSWORD_LINK_REQUESTED, actor=actor, subject=email)


class PasswordChange(EmailedLink):
    """A user's way to a new password; the newest one alone works."""

    page = "change-password"
    mail_name = "password_change"
    seconds_setting = "PASSWORD_CHANGE_SECONDS"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, editable=False)

    objects: ClassVar[PasswordChangeQuerySet] = PasswordChangeQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "password change"

    @classmethod
    def for_mail(cls, mail: OutgoingMail) -> "PasswordChange | None":
        """A new link in place of the older ones; nothing for an address without an active user."""
        user = User.objects.filter(email=mail.email, is_active=True).first()
        if user is None:
            return None
        cls.objects.live().filter(user=user).update(expires_at=timezone.now())
        return cls.objects.create(user=user, email=user.email, language=user.language)

    def of_user(self) -> models.QuerySet[User]:
        """The user, as long as the link is theirs."""
        users = User.objects.filter(pk=self.user_id, email=self.email, is_active=True)
        return cast(models.QuerySet[User], users)

    def redeem(self, password: str) -> User:
        """Use the link up and set the password, a hash; every earlier session of the user ends.

        In the caller's transaction. Raises InvalidLink.
        """
        self.use()
        if not self.of_user().update(password=password, token_version=raised_version()):
            raise InvalidLink
        return cast(User, User.objects.with_profile().get(pk=self.user_id))
