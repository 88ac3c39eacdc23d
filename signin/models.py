"""E-mailed links to complete a sign-up and to unlock an address. The app's other models are in
`signin.devices` and `signin.factors.models`."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from accounts import providers
from accounts.errors import SignInAtProvider
from accounts.models import Account, Role, User
from audit.models import PREFIX_OPCLASS, Kind
from base.caller import network_of
from mail.errors import InvalidLink
from mail.links import EmailedLink, UserLink
from mail.outbox import OutgoingMail
from signin import devices  # noqa: F401  (Django finds this app's models by importing this module)
from signin.factors import models as factors  # noqa: F401
from throttling.models import UNKNOWN_DEVICE, Lockout


class SignupLink(EmailedLink):
    """A link to complete a sign-up, mailed to an address without a user."""

    page = "complete-signup"
    mail_name = "signup"
    seconds_setting = "SIGNUP_LINK_SECONDS"

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "sign-up link"
        indexes = [
            models.Index(fields=["email"], name="signup_of_address", opclasses=[PREFIX_OPCLASS])
        ]

    @classmethod
    def for_mail(cls, mail: OutgoingMail) -> "SignupLink | None":
        """Store and return a new link for a requested mail; None if a user has the address."""
        if User.objects.filter(email=mail.email).exists():
            return None
        return cls.objects.create(email=mail.email, language=mail.language)

    def candidate(self, account_name: str, first_name: str, last_name: str) -> User:
        """The user who would complete the sign-up, without a password: the admin of a new company.
        Both are unsaved."""
        return User(
            account=Account(name=account_name),
            email=self.email,
            first_name=first_name,
            last_name=last_name,
            language=self.language,
            role=Role.ADMIN,
        )

    def redeem(self, user: User) -> User:
        """Use the link up, store `user`, a `candidate`, and the company, and record the sign-in, in
        the caller's transaction. Returns `user`. Raises InvalidLink for a used or expired link,
        EmailTaken if a user has the address, and SignInAtProvider if another company has proved the
        address's domain and requires its provider: the sign-in page would send the admin there."""
        self.use()
        if company := providers.rules.find_required_for(self.email):
            raise SignInAtProvider(company.name)
        user.account.save(force_insert=True)
        user.register()
        user.record_sign_in(Kind.SIGNUP_COMPLETED)
        return user


class UnlockLink(UserLink):
    """A link that ends a lockout, mailed to the user whose address unknown devices have locked."""

    page = "unlock"
    mail_name = "unlock"
    seconds_setting = "PASSWORD_CHANGE_SECONDS"  # the lifetime of password-change links
    per_hour = 1
    only_for_registered = True

    network = models.CharField(max_length=60, blank=True, editable=False)
    locked_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "unlock link"

    @classmethod
    def for_mail(cls, mail: OutgoingMail) -> "UnlockLink | None":
        """Store a new link for a requested mail, and return it; None unless the address has an
        active user who may sign in without the company's provider."""
        user = User.objects.find_by_email(email=mail.email)
        if user is None or not user.may_sign_in_here:
            return None
        return cls.objects.create(
            user=user,
            email=user.email,
            language=user.language,
            network=network_of(mail.origin.get("address", "")),
            locked_at=mail.created_at,
        )

    def redeem(self) -> User:
        """Use the link up, and end the lockout of unknown devices with their failures, in the
        caller's transaction. Returns the user, who is not signed in by it. Raises InvalidLink for a
        used or expired link, and for a user who is inactive or has another address by now."""
        self.use()
        users = User.objects.filter(pk=self.user_id, email=self.email, is_active=True)
        user: User | None = users.first()
        if user is None:
            raise InvalidLink
        records = Lockout.objects.filter(device=UNKNOWN_DEVICE)
        records.delete_records(self.email, user, Kind.UNLOCKED_BY_MAIL)
        return user

    def mail_context(self) -> dict[str, object]:
        """The template's context. `network` is where the attempt came from that locked the address,
        such as 203.0.113.0/24; "" if unknown."""
        return super().mail_context() | {
            "failures": settings.LOCKOUT_THRESHOLD,
            "network": self.network,
            "locked_at": self.locked_at,
            "until": self.locked_at + timedelta(seconds=settings.LOCKOUT_SECONDS),
        }
