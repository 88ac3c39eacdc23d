"""E-mailed one-time links, whose tokens are not stored."""

import base64
import functools
import math
import re
import uuid
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self
from uuid import UUID

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from base.batches import delete_in_batches
from base.emails import CanonicalEmailField, is_mailed_as_written
from base.sealed import mac_of
from mail.errors import InvalidLink

RETENTION = timedelta(days=30)  # after a link ends, so that support can look it up
TOKEN = re.compile(r"[A-Za-z0-9_-]{64}")  # 16 octets of row id, 32 of HMAC-SHA256, in base64url


class LinkQuerySet(models.QuerySet[Any]):
    def live(self) -> Self:
        """Links that can still be used. A link whose mail is not sent yet has no expiry."""
        alive = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(alive, **self.model.open_filter)

    def end_all(self) -> int:
        """End every usable link; returns their number. Their waiting mails will be dropped."""
        return self.live().update(expires_at=timezone.now())

    def prune_expired(self) -> int:
        """Delete the links that ended 30 days ago; returns their number. Links that old without an
        expiry are also dead: their mails were given up long before."""
        then = timezone.now() - RETENTION
        never_sent = Q(expires_at=None, created_at__lte=then)
        return delete_in_batches(self.filter(never_sent | Q(expires_at__lte=then)))

    def find_by_token(self, token: str) -> Any:
        """The live link of a token. Raises InvalidLink for any other token, and for a link whose
        mail went to another address than the link's."""
        if not TOKEN.fullmatch(token):
            raise InvalidLink
        octets = base64.urlsafe_b64decode(token)
        link = self.live().filter(pk=UUID(bytes=octets[:16])).first()
        if link and not is_mailed_as_written(link.email):
            raise InvalidLink
        for secret in [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]:
            if link and constant_time_compare(octets[16:], link.mac_under(secret)):
                return link
        raise InvalidLink


class EmailedLink(models.Model):
    """A link mailed to one address, with a subclass for each purpose.

    The token is an HMAC of the row's id and generation under SECRET_KEY. So a mail that is sent
    again has the same link, the database reveals no links, a new generation ends the old link, and
    a token is valid for one kind of link only.
    """

    page: ClassVar[str]  # the front-end's path, under FRONTEND_URL
    mail_name: ClassVar[str]  # templates/emails/<mail_name>.txt
    seconds_setting: ClassVar[str]  # its lifetime, from the time its mail is sent
    per_hour: ClassVar[int | None] = None  # None: MAIL_PER_ADDRESS_PER_HOUR
    only_for_registered: ClassVar[bool] = False  # others are mailed to any address
    waits_for_budget: ClassVar[bool] = True  # beyond the hourly limit of its mailbox
    ends_on_email_change: ClassVar[bool] = True  # when the user gets another address
    open_filter: ClassVar[dict[str, None]] = {"used_at": None}  # of links not used or revoked

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = CanonicalEmailField("e-mail address")
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, default="en")
    generation = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True, editable=False)
    used_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = LinkQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} for {self.email}"

    @property
    def is_protected(self) -> bool:
        """Whether only a superuser may act on it."""
        return False

    def mac_under(self, secret: str) -> bytes:
        """The token's second part."""
        return mac_of(f"link:{self._meta.label_lower}", f"{self.pk}:{self.generation}", secret)

    @property
    def token(self) -> str:
        octets = self.pk.bytes + self.mac_under(settings.SECRET_KEY)
        return base64.urlsafe_b64encode(octets).decode()

    @property
    def url(self) -> str:
        """The link. Its token is in the fragment, which browsers don't send to servers."""
        return f"{settings.FRONTEND_URL}/{self.page}#token={self.token}"

    @staticmethod
    @functools.cache
    def models_by_label() -> dict[str, type["EmailedLink"]]:
        """Every kind of link, by the label that mails name it with."""
        links = (model for model in apps.get_models() if issubclass(model, EmailedLink))
        return {model._meta.label_lower: model for model in links}

    @staticmethod
    @functools.cache
    def labels_for_registered() -> list[str]:
        """The labels of the kinds that are mailed to registered addresses only."""
        kinds = EmailedLink.models_by_label().items()
        return [label for label, kind in kinds if kind.only_for_registered]

    @staticmethod
    def end_all_of(user_id: UUID) -> None:
        """End every open link of a user, for changes after which access to the mailbox proves
        nothing any more. In the caller's transaction; waits for links that are being used."""
        for model in EmailedLink.models_by_label().values():
            if issubclass(model, UserLink):
                links: Any = model._default_manager
                links.filter(user=user_id).end_all()

    @staticmethod
    def end_all_to(email: str) -> None:
        """End the open links that were mailed to a user's former address. A link that is being used
        at this moment is left out: its use fails, since the user has another address."""
        for model in EmailedLink.models_by_label().values():
            if model.ends_on_email_change:
                links = model._default_manager.live().filter(email=email)
                free = links.select_for_update(skip_locked=True).values_list("pk", flat=True)
                model._default_manager.filter(pk__in=list(free)).update(expires_at=timezone.now())

    @classmethod
    def lifetime(cls) -> timedelta:
        return timedelta(seconds=getattr(settings, cls.seconds_setting))

    def is_live(self) -> bool:
        ends = self.expires_at
        return self.used_at is None and (ends is None or ends > timezone.now())

    def use(self) -> None:
        """Use the link up, in the transaction of its effect.

        One conditional UPDATE decides races; all but one request get InvalidLink.
        """
        now = timezone.now()
        same = type(self)._default_manager.live().filter(pk=self.pk, generation=self.generation)
        if not same.update(used_at=now):
            raise InvalidLink
        self.used_at = now

    def mail_was_sent(self, now: datetime) -> None:
        """Start the link's life, unless it has already begun."""
        unsent = type(self)._default_manager.filter(pk=self.pk, expires_at=None)
        unsent.update(expires_at=now + self.lifetime())

    def end_token_with_letter(self) -> None:
        """Choose the generation whose token ends with a letter or digit, before it is mailed. Mail
        clients that make links of text leave a `-` or `_` at the end out."""
        generation = self.generation
        while not self.token[-1].isalnum():
            self.generation += 1
        if self.generation != generation:
            unchanged = type(self)._default_manager.filter(pk=self.pk, generation=generation)
            unchanged.update(generation=self.generation)

    @classmethod
    def for_mail(cls, mail: Any) -> Self | None:
        """Create the link for a requested OutgoingMail, in the transaction that decides on the
        mail; None if there is nothing to send. Implemented by the kinds that can be requested."""
        raise NotImplementedError

    def mail_context(self) -> dict[str, object]:
        """The templates' context: the link, and how long it works."""
        life = self.expires_at - timezone.now() if self.expires_at else self.lifetime()
        minutes = math.ceil(life / timedelta(minutes=1))
        hours, days = minutes // 60, minutes // (24 * 60)
        return {"url": self.url, "minutes": minutes, "hours": hours, "days": days}


class UserLink(EmailedLink):
    """A link that belongs to a user."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, editable=False)

    class Meta:
        abstract = True

    @property
    def is_protected(self) -> bool:
        return bool(self.user.is_protected)
