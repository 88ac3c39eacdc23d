"""Base classes of e-mailed one-time links: their tokens, which are not stored, and lifetimes."""

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

RETENTION = timedelta(days=30)  # for which support can look up what has ended
LINK_TOKEN = re.compile(r"[A-Za-z0-9_-]{64}")  # base64url of 16 octets of row id, 32 of HMAC-SHA256


class LinkQuerySet(models.QuerySet[Any]):
    def live(self) -> Self:
        """The links that are neither used nor revoked nor expired. One whose `expires_at` is None
        has not expired: its lifetime begins when its mail is sent."""
        unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(unexpired, **self.model.open_filter)

    def end_all(self) -> int:
        """Let the live links expire now; returns their number."""
        return self.live().update(expires_at=timezone.now())

    def prune_expired(self) -> int:
        """Delete the links, used or not, that expired RETENTION ago, or were created then and never
        mailed; returns their number."""
        cutoff = timezone.now() - RETENTION
        never_sent = Q(expires_at=None, created_at__lte=cutoff)
        return delete_in_batches(self.filter(never_sent | Q(expires_at__lte=cutoff)))

    def find_by_token(self, token: str) -> Any:
        """The live link, of this queryset's model, that the token belongs to. It stays unused.
        Raises InvalidLink for an invalid token, if the link is unknown, used, revoked or expired,
        and for a link of 2.1 whose address the mailer decoded to another mailbox."""
        if not LINK_TOKEN.fullmatch(token):
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

    The token consists of the row's id and an HMAC of the kind, the id and the generation under
    SECRET_KEY. Therefore a mail that is sent twice has the same link, the database reveals no
    links, a new generation ends the old link, and a token is valid for one kind of link.
    """

    page: ClassVar[str]  # the front-end's path under FRONTEND_URL
    mail_name: ClassVar[str]  # templates/emails/<mail_name>.txt
    # The setting of its lifetime, which begins when it is mailed; an invitation's begins when it is
    # created or sent again.
    seconds_setting: ClassVar[str]
    per_hour: ClassVar[int | None] = None  # requests to an address; None: the setting's limit
    only_for_registered: ClassVar[bool] = False  # whether only addresses of users get it
    waits_for_budget: ClassVar[bool] = True  # whether its mail waits beyond its mailbox's budget
    ends_on_email_change: ClassVar[bool] = True  # whether it ends when its user's address changes
    open_filter: ClassVar[dict[str, None]] = {"used_at": None}  # selects links not used or revoked

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
        """Whether only superusers and commands may act on the link."""
        return False

    def mac_under(self, secret: str) -> bytes:
        """The HMAC part of the token, under this SECRET_KEY or fallback."""
        return mac_of(f"link:{self._meta.label_lower}", f"{self.pk}:{self.generation}", secret)

    @property
    def token(self) -> str:
        octets = self.pk.bytes + self.mac_under(settings.SECRET_KEY)
        return base64.urlsafe_b64encode(octets).decode()

    @property
    def url(self) -> str:
        """The URL to mail. The token is in its fragment, which browsers do not send to servers."""
        return f"{settings.FRONTEND_URL}/{self.page}#token={self.token}"

    @staticmethod
    @functools.cache
    def models_by_label() -> dict[str, type["EmailedLink"]]:
        """Every kind of link, by its model's label, which `OutgoingMail.kind` holds."""
        links = (model for model in apps.get_models() if issubclass(model, EmailedLink))
        return {model._meta.label_lower: model for model in links}

    @staticmethod
    @functools.cache
    def labels_for_registered() -> list[str]:
        """The labels of the kinds of links that only addresses of users get."""
        kinds = EmailedLink.models_by_label().items()
        return [label for label, kind in kinds if kind.only_for_registered]

    @staticmethod
    def end_all_of(user_id: UUID) -> None:
        """Let every live UserLink of a user expire now. Call it in the transaction of a change
        after which access to the mailbox proves nothing. Waits for a request that is using one."""
        for model in EmailedLink.models_by_label().values():
            if issubclass(model, UserLink):
                links: Any = model._default_manager
                links.filter(user=user_id).end_all()

    @staticmethod
    def end_all_to(email: str) -> None:
        """Let the live links to a user's former address expire now, except for models without
        `ends_on_email_change`. Call it in the transaction that changes the address.

        A link whose row another transaction has locked, usually since it uses the link, is skipped:
        neither waits for the other. That transaction finds out by itself that the user's address
        has changed.
        """
        for model in EmailedLink.models_by_label().values():
            if model.ends_on_email_change:
                links = model._default_manager.live().filter(email=email)
                link_ids = links.select_for_update(skip_locked=True).values_list("pk", flat=True)
                ended = model._default_manager.filter(pk__in=list(link_ids))
                ended.update(expires_at=timezone.now())

    @classmethod
    def lifetime(cls) -> timedelta:
        """How long a link of this kind works."""
        return timedelta(seconds=getattr(settings, cls.seconds_setting))

    def is_live(self) -> bool:
        """Whether the link is neither used nor expired, by the row as it was loaded."""
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.used_at is None and not is_expired

    def use(self) -> None:
        """Mark the link as used. Call it in the transaction of the link's effect. Raises
        InvalidLink if the link was used, revoked or deleted, has expired or has got a new
        generation since it was loaded, also in a race: one conditional UPDATE decides."""
        now = timezone.now()
        row = type(self)._default_manager.live().filter(pk=self.pk, generation=self.generation)
        if not row.update(used_at=now):
            raise InvalidLink
        self.used_at = now

    def mail_was_sent(self, now: datetime) -> None:
        """Start the link's lifetime at `now`, unless `expires_at` is set already, as by an earlier
        mail. Call it in the transaction that stores the mail as sent."""
        unsent_link = type(self)._default_manager.filter(pk=self.pk, expires_at=None)
        unsent_link.update(expires_at=now + self.lifetime())

    def end_token_with_letter(self) -> None:
        """Raise the link's generation until the token ends with a letter or a digit, and store the
        generation: mail clients that turn text into links drop a final `-` or `_`. Does not
        overwrite a new generation that the row has got since it was loaded."""
        generation = self.generation
        while not self.token[-1].isalnum():
            self.generation += 1
        if self.generation != generation:
            stored_link = type(self)._default_manager.filter(pk=self.pk, generation=generation)
            stored_link.update(generation=self.generation)

    @classmethod
    def for_mail(cls, mail: Any) -> Self | None:
        """Create and return the link of a requested OutgoingMail, in the caller's transaction; None
        if the address gets no link. Each kind of link that can be requested implements this."""
        raise NotImplementedError

    def mail_context(self) -> dict[str, object]:
        """The template's context: `url`, and how long the link still works, in `minutes` (rounded
        up), whole `hours` and whole `days`."""
        remaining = self.expires_at - timezone.now() if self.expires_at else self.lifetime()
        minutes = math.ceil(remaining / timedelta(minutes=1))
        hours, days = minutes // 60, minutes // (24 * 60)
        return {"url": self.url, "minutes": minutes, "hours": hours, "days": days}


class UserLink(EmailedLink):
    """A link that belongs to a user, and is deleted with the user."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, editable=False)

    class Meta:
        abstract = True

    @property
    def is_protected(self) -> bool:
        return bool(self.user.is_protected)
