"""Client: a program that asked to be let in. Grant: a person's yes to one of them."""

import base64
import hashlib
import re
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.core import signing
from django.db import models, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext

from accounts.models import User
from assistants import documents, redirects
from assistants.exceptions import DocumentUnusable, InvalidClient, InvalidGrant
from assistants.serializers import RegistrationSerializer
from audit import origin, trail
from audit.macs import Signer
from audit.models import Kind
from audit.pruning import BATCH, delete_in_batches

CODE_LIFE = timedelta(seconds=60)
GRACE = timedelta(seconds=30)  # for the refresh token before: calls in parallel, lost answers
KEPT_FOR = timedelta(days=30)  # after a grant's end, so that support can see what became of it
UNUSED_CLIENT_LIFE = timedelta(days=1)
MOST_UNUSED = 10_000  # clients, and those that a person may be deciding about
SIGN_IN_LIFE = timedelta(hours=1)  # for a person to be led here and to sign in
HELD_FOR = timedelta(minutes=15)  # for a person to decide: longer than a ticket of the page lives
VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")  # RFC 7636 §4.1
LIVE_GRANT = "SELECT * FROM assistants_grant WHERE id = %s AND ended_at IS NULL"
CODE, REFRESH_TOKEN = "assistants.code", "assistants.refresh_token"  # salts


class ClientQuerySet(models.QuerySet["Client"]):
    def find(self, client_id: str) -> "Client":
        """The client of an id as a request gives it; InvalidClient for any other. One that has a
        metadata document is known once `find_or_fetch` has read it."""
        try:
            if documents.is_url(client_id):
                return self.get(url=client_id)
            return self.get(pk=uuid.UUID(client_id))
        except (ValueError, Client.DoesNotExist):
            raise InvalidClient("This client_id is not registered here.") from None

    def find_or_fetch(self, client_id: str) -> "Client":
        """The same, and a client that has a metadata document as that says by now. Raises
        DocumentUnusable, too."""
        if not settings.ASSISTANT_METADATA_DOCUMENTS or not documents.is_url(client_id):
            return self.find(client_id)
        now = timezone.now()
        known = self.filter(url=client_id, fresh_until__gt=now).first()
        if known is not None:
            return known
        document, life = documents.fetch(client_id)
        said = described(client_id, document) | {"fresh_until": now + life}
        self.make_room()
        return self.update_or_create(url=client_id, defaults=said)[0]

    def register(self, name: str, redirect_uris: list[str]) -> "Client":
        """A new client."""
        self.make_room()
        return self.create(name=name, redirect_uris=redirect_uris)

    def make_room(self) -> None:
        """Anybody may bring a client, so there is room for so many that nobody has let in; for one
        more, the oldest of them goes, unless its request may still be under way."""
        unused = self.filter(grants=None).order_by("-created_at")
        for oldest in unused.values_list("created_at", flat=True)[MOST_UNUSED - 1 : MOST_UNUSED]:
            self.filter(created_at__lte=oldest).forget(SIGN_IN_LIFE)

    def prune(self) -> int:
        """Delete the clients that nobody has let in within a day, or whose grants are all gone."""
        return self.forget(UNUSED_CLIENT_LIFE)

    def forget(self, life: timedelta) -> int:
        """Delete those of the clients that are older than this, nobody has let in, and nobody is
        deciding about; how many.

        Each is locked before it goes, so that `hold` either keeps it or finds it gone.
        """
        now, total = timezone.now(), 0
        idle = Q(held_at=None) | Q(held_at__lte=now - HELD_FOR)
        grants = Grant.objects.filter(client=OuterRef("pk"))
        old = self.filter(idle, ~Exists(grants), created_at__lte=now - life)
        while True:
            with transaction.atomic():
                rows = old.select_for_update(skip_locked=True).order_by()
                keys = list(rows.values_list("pk", flat=True)[:BATCH])
                self.model.objects.filter(pk__in=keys).delete()
            total += len(keys)
            if len(keys) < BATCH:
                return total

    def hold(self, client: "Client") -> None:
        """Keep a client, since a person stands at its consent page. InvalidClient if it has just
        been deleted."""
        if not self.filter(pk=client.pk).update(held_at=timezone.now()):
            raise InvalidClient("This client_id is not registered here.")


def described(url: str, document: dict[str, object]) -> dict[str, object]:
    """A client's columns, by its metadata document; DocumentUnusable where that does not hold."""
    metadata = RegistrationSerializer(data=document)
    method = str(document.get("token_endpoint_auth_method"))
    if (
        document.get("client_id") != url
        or not {"client_secret", "client_secret_expires_at"}.isdisjoint(document)
        or method.startswith("client_secret")
        or not metadata.is_valid()
        or not metadata.validated_data["client_name"]
    ):
        raise DocumentUnusable
    checked = metadata.validated_data
    return {"name": checked["client_name"], "redirect_uris": checked["redirect_uris"]}


class Client(models.Model):
    """A program that registered itself (RFC 7591), or has a metadata document. It is public: it has
    no secret, and its name is its own claim. What is known of it for sure is where it gets its
    answers, and who serves its document."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField("calls itself", max_length=100)
    redirect_uris = models.JSONField("redirect URIs", default=list)
    url = models.CharField(  # noqa: DJ001  (null: unique, and many have none)
        "metadata document",
        max_length=documents.LONGEST_URL,
        null=True,
        unique=True,
        editable=False,
    )
    fresh_until = models.DateTimeField("to be read again", null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)
    held_at = models.DateTimeField("consent page last shown", null=True, editable=False)

    objects = ClientQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def client_id(self) -> str:
        return self.url or str(self.pk)

    @property
    def host(self) -> str:
        """Who serves its metadata document; "" where it has none."""
        return redirects.host(self.url) if self.url else ""

    def is_let_in(self) -> bool:
        """Whether anybody has ever let it in."""
        return self.grants.exists()


class GrantQuerySet(models.QuerySet["Grant"]):
    def live(self) -> Self:
        """Grants by which somebody acts: redeemed, not ended, not too old, and of an active user
        whose sessions have not been ended since."""
        return self.filter(
            redeemed_at__isnull=False,
            ended_at=None,
            created_at__gt=timezone.now() - Grant.life(),
            user__is_active=True,
            user__token_version=F("token_version"),
        )

    def for_token(self, token: Mapping[str, Any]) -> "Grant | None":
        """The grant that an assistant's access token names, unless it has ended.

        Plain SQL through raw(), as for the token's user: every message asks this, and the ORM
        would take as long to make the SQL as all that is done with the answer.
        """
        return next(iter(self.raw(LIVE_GRANT, [uuid.UUID(token["grant"]).hex])), None)

    def find(self, salt: str, token: str) -> tuple["Grant", int]:
        """The grant that a CODE or REFRESH_TOKEN belongs to, and the token's generation.

        InvalidGrant for what we have not signed. The token itself is stored nowhere.
        """
        try:
            pk, generation = Signer(salt=salt).unsign_object(token)
            return self.select_related("user", "client").get(pk=pk), generation
        except (signing.BadSignature, ValueError, Grant.DoesNotExist):
            raise InvalidGrant("It does not hold, or no longer.") from None

    def end_all(self) -> int:
        """End every grant by which somebody acts; how many. The caller records it in the trail,
        since one record tells of them all."""
        return self.live().update(ended_at=timezone.now())

    def prune(self) -> int:
        """Delete the grants that ended, or grew too old, 30 days ago, and unused codes."""
        then = timezone.now() - KEPT_FOR
        dead = Q(ended_at__lte=then) | Q(created_at__lte=then - Grant.life())
        unused = Q(redeemed_at=None, created_at__lte=timezone.now() - UNUSED_CLIENT_LIFE)
        return delete_in_batches(self.filter(dead | unused))


class Grant(models.Model):
    """A person's yes to a client, from the button to its end.

    It holds no secret. The code (RFC 6749 §4.1.2) and the refresh tokens are signed with
    SECRET_KEY: the grant's id, and for a refresh token its generation, which each refresh raises.
    So an older one is known for what it is.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="grants", editable=False
    )
    client = models.ForeignKey(
        Client, models.CASCADE, related_name="grants", editable=False, verbose_name="calls itself"
    )
    redirect_uri = models.CharField("redirect URI", max_length=2000, editable=False)
    code_challenge = models.CharField(max_length=43, editable=False)
    token_version = models.PositiveBigIntegerField(
        editable=False, help_text="The user's when it was given; raising the user's ends it."
    )
    generation = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField("let in", default=timezone.now, editable=False)
    redeemed_at = models.DateTimeField("code redeemed", null=True, editable=False)
    used_at = models.DateTimeField("last refreshed", null=True, editable=False)
    used_from = models.CharField(
        "address of that", max_length=60, blank=True, db_default="", editable=False
    )
    ended_at = models.DateTimeField("ended", null=True, editable=False)

    objects = GrantQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [models.Index(fields=["created_at"], name="grant_by_age")]

    def __str__(self) -> str:
        return gettext("%(client)s for %(user)s") % {"client": self.client, "user": self.user}

    @staticmethod
    def life() -> timedelta:
        return timedelta(seconds=settings.SESSION_MAX_SECONDS)

    @property
    def host(self) -> str:
        """Where the client gets its answers: the one thing that is known of it for sure."""
        return redirects.host(self.redirect_uri)

    @property
    def expires_at(self) -> datetime:
        return self.created_at + self.life()

    @property
    def code(self) -> str:
        return Signer(salt=CODE).sign_object([str(self.pk), 0])

    @property
    def refresh_token(self) -> str:
        return Signer(salt=REFRESH_TOKEN).sign_object([str(self.pk), self.generation])

    def is_live(self) -> bool:
        """As `GrantQuerySet.live`, of a grant that is loaded with its user; for any code, too."""
        return (
            self.ended_at is None
            and self.created_at > timezone.now() - self.life()
            and self.user.is_active
            and self.user.token_version == self.token_version
        )

    def is_answered_by(self, verifier: str) -> bool:
        """Whether this is the secret whose hash came with the request (PKCE, RFC 7636 §4.6)."""
        if not VERIFIER.fullmatch(verifier):
            return False
        digest = hashlib.sha256(verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return constant_time_compare(challenge, self.code_challenge)

    def redeem(self) -> None:
        """Use the code up. InvalidGrant where it cannot be: a second use ends the grant, since one
        of the two who had the code has no right to it (RFC 9700 §2.1.1, RFC 6749 §4.1.2).

        One conditional UPDATE decides between requests that race.
        """
        now = timezone.now()
        unused = Grant.objects.filter(pk=self.pk, redeemed_at=None, ended_at=None)
        young = unused.filter(created_at__gt=now - CODE_LIFE)
        with transaction.atomic():
            redeemed = self.is_live() and young.update(redeemed_at=now, used_at=now)
            if redeemed:
                trail.record(Kind.ASSISTANT_LET_IN, actor=self.user, **self.detail())
                self.user.tell("assistant_let_in", client=self.client.name, host=self.host)
        if not redeemed:
            if Grant.objects.filter(pk=self.pk, redeemed_at__isnull=False).exists():
                self.end(reason="code used twice")
            raise InvalidGrant("The code does not hold, or no longer.")

    def rotate(self, generation: int) -> None:
        """Make the refresh token of this generation the older one: `generation` is the next then.

        Whoever comes with it again within GRACE gets the next one, too: clients refresh once for
        each of their parallel calls, and lose answers. InvalidGrant where it is older than that:
        then somebody has a copy, and the grant ends (RFC 9700 §4.14.2).

        Decided by the UPDATE: of requests that race one rotates.
        """
        same = Grant.objects.filter(pk=self.pk, generation=generation, ended_at=None)
        now, address = timezone.now(), origin.current.get().address
        renewed = {"generation": F("generation") + 1, "used_at": now, "used_from": address}
        if self.is_live() and same.update(**renewed):
            self.generation = generation + 1
            return
        self.refresh_from_db(fields=["generation", "used_at", "used_from", "ended_at"])
        if not self.is_live() or not self.is_again(generation, now):
            if self.generation > generation:
                self.end(reason="refresh token used twice")
            raise InvalidGrant("The refresh token does not hold, or no longer.")
        if self.used_from != address:
            trail.record(Kind.ASSISTANT_ELSEWHERE, actor=self.user, **self.elsewhere())

    def is_again(self, generation: int, now: datetime) -> bool:
        """Whether a refresh token is the one before the present one, which is that young."""
        return (
            generation == self.generation - 1
            and self.used_at is not None
            and self.used_at > now - GRACE
        )

    def elsewhere(self) -> dict[str, Any]:
        """For the trail: the address that had the present refresh token before this one."""
        return self.detail() | {"first_address": self.used_from}

    def end(self, actor: User | None = None, **detail: str) -> bool:
        """End the grant, and tell the audit trail who did or why; False when it had ended.
        PermissionDenied for an actor whose grant it is not, and who may not act on whose it is."""
        user, recorded = self.user, self.detail() | detail
        if actor is not None and actor != user:
            actor.check_reach(user)
        with transaction.atomic():
            alive = Grant.objects.filter(pk=self.pk, ended_at=None)
            ended = bool(alive.update(ended_at=timezone.now()))
            if ended:
                trail.record(
                    Kind.ASSISTANT_ENDED,
                    actor=actor,
                    subject=user.email,
                    account_id=user.account_id,
                    **recorded,
                )
        return ended

    def detail(self) -> dict[str, Any]:
        """What the audit trail is recorded of it."""
        return {
            "grant": str(self.pk),
            "host": self.host,
            **({"document": self.client.url} if self.client.url else {}),
            "claims": {"client": self.client.name},
        }
