"""`Client`, an app that asks to act for users, and `Grant`, a user's consent to a client."""

import re
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.core import signing
from django.db import models, transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.crypto import constant_time_compare

import audit
from accounts.models import User
from accounts.tokens import NO_CLAIMS, PROVIDER_METHOD
from assistants import metadata, redirects
from assistants.errors import InvalidClient, InvalidGrant, UnusableMetadata
from audit.actors import COMMAND, Actor
from audit.models import Kind
from base.batches import delete_in_batches
from base.caller import current_caller
from base.pkce import challenge_of

CODE_LIFETIME = timedelta(seconds=60)  # from the consent until the client redeems the code
REFRESH_GRACE = timedelta(seconds=30)  # in which the preceding refresh token still works
ENDED_GRANTS_KEPT = timedelta(days=30)  # so that support can look them up
UNUSED_KEPT = timedelta(days=1)  # grants that were not redeemed
# Clients without a grant: most apps never ask for another client_id, and fail once it is unknown.
UNUSED_CLIENTS_KEPT = timedelta(days=90)
MAX_UNUSED_CLIENTS = 10_000  # rows without a grant
CONSENT_TIME = timedelta(hours=1)  # for a user to be sent here, sign in and decide
CODE_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")  # RFC 7636 §4.1
SELECT_OPEN_GRANT = "SELECT * FROM assistants_grant WHERE id = %s AND ended_at IS NULL"
# Salts of tokens signed with SECRET_KEY.
CODE_SALT, REFRESH_TOKEN_SALT = "assistants.code", "assistants.refresh_token"
ACCESS_TOKEN_SALT = "assistants.access_token"  # noqa: S105


class ClientQuerySet(models.QuerySet["Client"]):
    def find_by_client_id(self, client_id: str) -> "Client":
        """The stored client with this `client_id`, its id or the URL of its metadata document.
        Raises InvalidClient if there is none."""
        try:
            if metadata.is_document_url(client_id):
                return self.get(url=client_id)
            return self.get(pk=uuid.UUID(client_id))
        except (ValueError, Client.DoesNotExist):
            raise InvalidClient from None

    def find_or_fetch(self, client_id: str, count_fetch: Callable[[], object]) -> "Client":
        """The client with this `client_id`. If that is a URL, fetch and store the metadata document
        there, unless the stored one is fresh or ASSISTANT_METADATA_DOCUMENTS is off. If no valid
        one can be fetched, the stored one counts as fresh for MIN_CACHE_TIME.

        `count_fetch` is called before a fetch, and may raise TooManyAttempts. Raises InvalidClient,
        or UnusableMetadata for a URL without a valid document and without a stored one.
        """
        if not settings.ASSISTANT_METADATA_DOCUMENTS or not metadata.is_document_url(client_id):
            return self.find_by_client_id(client_id)
        clients, now = self.filter(url=client_id), timezone.now()
        fresh_client = clients.filter(fresh_until__gt=now).first()
        if fresh_client is not None:
            return fresh_client
        count_fetch()
        try:
            client_fields, cache_time = metadata.fetch_client(client_id)
        except UnusableMetadata:
            if clients.update(fresh_until=now + metadata.MIN_CACHE_TIME):
                return clients.get()
            raise
        self.make_room()
        values = client_fields | {"fresh_until": now + cache_time}
        return self.update_or_create(url=client_id, defaults=values)[0]

    def register_client(self, name: str, redirect_uris: list[str]) -> "Client":
        """Create a client with values of `read_client_metadata`."""
        self.make_room()
        return self.create(name=name, redirect_uris=redirect_uris)

    def make_room(self) -> None:
        """If there are MAX_UNUSED_CLIENTS without a grant, delete those older than CONSENT_TIME, as
        anyone can register clients. A user may be about to authorise a younger one."""
        unused_clients = self.filter(grants=None)
        if unused_clients.count() >= MAX_UNUSED_CLIENTS:
            latest = timezone.now() - CONSENT_TIME
            delete_in_batches(unused_clients.filter(created_at__lte=latest))

    def prune_expired(self) -> int:
        """Delete clients without a grant that were created over UNUSED_CLIENTS_KEPT ago. Returns
        their number."""
        latest = timezone.now() - UNUSED_CLIENTS_KEPT
        return delete_in_batches(self.filter(grants=None, created_at__lte=latest))


class Client(models.Model):
    """An app that registered itself (RFC 7591) or has a metadata document at `url`. It has no
    secret, and its name is its own claim: only its redirect URIs and the document's host are
    certain."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField("claimed name", max_length=100)
    redirect_uris = models.JSONField("redirect URIs", default=list)
    url = models.CharField(  # noqa: DJ001  (it is unique, so registered apps need null)
        "metadata document",
        max_length=metadata.MAX_URL_CHARACTERS,
        null=True,
        unique=True,
        editable=False,
    )
    fresh_until = models.DateTimeField("cached until", null=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    objects = ClientQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "registered app"

    def __str__(self) -> str:
        return self.name

    @property
    def document_host(self) -> str:
        """The host of the metadata document; "" for a client that registered itself."""
        return redirects.display_host(self.url) if self.url else ""


def read_grant_token(salt: str, token: str) -> tuple[uuid.UUID, int]:
    """The grant's id and the number in a token that `Grant.sign_token` has signed with this salt: 0
    in a code, the generation in a refresh token, and in an access token its expiry (epoch seconds).
    Both are 0 for any other token; no grant has that id."""
    try:
        pk, number = signing.Signer(salt=salt).unsign_object(token)
        return uuid.UUID(pk), number
    except (signing.BadSignature, ValueError):
        return uuid.UUID(int=0), 0


class GrantQuerySet(models.QuerySet["Grant"]):
    def unended(self) -> Self:
        """Grants, whose code may be unused, that have neither ended nor expired, of active users
        who were not signed out since the consent. A grant from a session at the company's provider
        ends with such sessions; any other has ended once the user must use the provider."""
        provider_tag = F("user__account__identity_provider__session_tag")
        users: Any = User.objects.with_provider_rules()
        users = users.filter(must_use_provider=False).values("pk")
        return self.filter(
            Q(session_end=None) | Q(session_end__gt=timezone.now()),
            Q(provider_tag=provider_tag) | Q(provider_tag=None, user__in=users),
            ended_at=None,
            created_at__gt=timezone.now() - Grant.lifetime(),
            user__is_active=True,
            user__token_version=F("token_version"),
        )

    def live(self) -> Self:
        """Unended grants whose code was redeemed: clients can use them."""
        return self.unended().filter(redeemed_at__isnull=False)

    def redeemable(self) -> Self:
        """Grants whose code is unused and young enough, and that have not ended."""
        latest = timezone.now() - CODE_LIFETIME
        return self.filter(redeemed_at=None, ended_at=None, created_at__gt=latest)

    def find_by_access_token(self, token: str) -> "Grant | None":
        """The open grant of a valid access token, also if this queryset leaves it out. The caller
        checks the user by `find_session_user`. Plain SQL makes a tool's call a tenth faster."""
        pk, expires = read_grant_token(ACCESS_TOKEN_SALT, token)
        grants = self.raw(SELECT_OPEN_GRANT, [pk.hex]) if expires > time.time() else ()
        return next(iter(grants), None)

    def find_by_token(self, client: Client, salt: str, token: str) -> tuple["Grant", int]:
        """The grant, which may have ended, of the client's code (`salt` is CODE_SALT) or refresh
        token, and the token's generation, 0 for a code. Raises InvalidGrant for any other token."""
        pk, generation = read_grant_token(salt, token)
        grant = self.select_related("user", "client").filter(pk=pk, client=client).first()
        if grant is None:
            raise InvalidGrant
        return grant, generation

    def end_all(self) -> int:
        """End this queryset's live grants, not those that were not redeemed yet. Returns their
        number. Records no event: the caller records one for all."""
        return self.live().update(ended_at=timezone.now())

    def prune_expired(self) -> int:
        """Delete grants that ended or expired ENDED_GRANTS_KEPT ago, and those that were not
        redeemed within UNUSED_KEPT. Returns their number."""
        latest_end = timezone.now() - ENDED_GRANTS_KEPT
        is_old = Q(ended_at__lte=latest_end) | Q(session_end__lte=latest_end)
        is_old |= Q(created_at__lte=latest_end - Grant.lifetime())
        is_unused = Q(redeemed_at=None, created_at__lte=timezone.now() - UNUSED_KEPT)
        return delete_in_batches(self.filter(is_old | is_unused))


class Grant(models.Model):
    """A user's consent to a client, a connected app.

    Its code and tokens are not stored: they hold the grant's id and a number (`read_grant_token`),
    signed with SECRET_KEY. A refresh with the newest token increments `generation`, so that older
    tokens are recognised.

    A grant from a session ends at `session_end` at the latest, when the session can no longer be
    refreshed, so that a stolen session can't outlive itself. `provider_tag` is the tag of a session
    that began at the company's provider, and null for other grants."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="grants", editable=False
    )
    client = models.ForeignKey(
        Client, models.CASCADE, related_name="grants", editable=False, verbose_name="app"
    )
    redirect_uri = models.CharField("redirect URI", max_length=2000, editable=False)
    code_challenge = models.CharField(max_length=43, editable=False)
    token_version = models.PositiveBigIntegerField(
        editable=False, help_text="The user's at that time; raising the user's ends the grant."
    )
    provider_tag = models.CharField(max_length=32, null=True, editable=False)  # noqa: DJ001
    session_end = models.DateTimeField(null=True, editable=False)
    generation = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField("connected", default=timezone.now, editable=False)
    redeemed_at = models.DateTimeField("code redeemed", null=True, editable=False)
    used_at = models.DateTimeField("last refreshed", null=True, editable=False)
    used_from = models.CharField(
        "last refreshed from", max_length=60, blank=True, db_default="", editable=False
    )
    ended_at = models.DateTimeField("ended", null=True, editable=False)

    objects = GrantQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        verbose_name = "connected app"
        indexes = [models.Index(fields=["created_at"], name="grant_by_age")]

    def __str__(self) -> str:
        return f"{self.client} for {self.user}"

    @staticmethod
    def lifetime() -> timedelta:
        return timedelta(seconds=settings.SESSION_MAX_SECONDS)

    @property
    def host(self) -> str:
        """The host of the redirect URI, which a client cannot fake; of a private-use scheme, its
        name and a colon."""
        return redirects.display_host(self.redirect_uri)

    @property
    def expires_at(self) -> datetime:
        end = self.created_at + self.lifetime()
        return min(end, self.session_end or end)

    @property
    def claims(self) -> Mapping[str, Any]:
        """The claims, for `find_session_user`, of the session at the company's provider that the
        grant is from; none for other grants."""
        if self.provider_tag is None:
            return NO_CLAIMS
        return {"amr": [PROVIDER_METHOD], "provider": self.provider_tag}

    def sign_token(self, salt: str, number: int) -> str:
        """The code or token that `read_grant_token` reads."""
        return signing.Signer(salt=salt).sign_object([str(self.pk), number])

    @property
    def authorization_code(self) -> str:
        return self.sign_token(CODE_SALT, 0)

    def token_response(self) -> dict[str, object]:
        """The body of the token endpoint's answer, with the current tokens (RFC 6749 §5.1)."""
        now, grant_end = int(time.time()), int(self.expires_at.timestamp())
        token_end = min(now + settings.ACCESS_TOKEN_SECONDS, grant_end)
        return {
            "access_token": self.sign_token(ACCESS_TOKEN_SALT, token_end),
            "token_type": "Bearer",
            "expires_in": max(token_end - now, 0),
            "refresh_token": self.sign_token(REFRESH_TOKEN_SALT, self.generation),
            "scope": metadata.SCOPE,
        }

    def is_unended(self) -> bool:
        """Whether the stored grant is one of `GrantQuerySet.unended`."""
        return Grant.objects.unended().filter(pk=self.pk).exists()

    def redeem(self, verifier: str) -> None:
        """Use the code up, record the connection and mail the user. One UPDATE decides races.

        Raises InvalidGrant for a wrong PKCE verifier, which leaves the code valid; if the grant has
        ended; and for a code that is too old or was used. A second use ends the grant (RFC 9700
        §2.1.1): call this outside a transaction, which the error would roll back with that end.
        """
        is_verified = constant_time_compare(challenge_of(verifier), self.code_challenge)
        if not (is_verified and CODE_VERIFIER.fullmatch(verifier)):
            raise InvalidGrant
        grants = Grant.objects.filter(pk=self.pk)
        times = dict.fromkeys(["redeemed_at", "used_at"], timezone.now())
        with transaction.atomic():
            is_redeemed = self.is_unended() and grants.redeemable().update(**times)
            if is_redeemed:
                audit.record(Kind.ASSISTANT_CONNECTED, actor=self.user, **self.event_detail())
                self.user.send_notice("assistant_let_in", client=self.client.name, host=self.host)
        if not is_redeemed:
            if grants.filter(redeemed_at__isnull=False).exists():
                self.end(COMMAND, reason="code used twice")
            raise InvalidGrant

    def rotate_refresh_token(self, generation: int) -> None:
        """Use the refresh token of this generation. Afterwards, `token_response` has the one to use
        next. One conditional UPDATE decides races.

        1. The current token is replaced by that of the next generation.
        2. The preceding token is exchanged for the current one, for REFRESH_GRACE after the latest
           refresh: clients refresh in parallel and lose answers. If another address refreshed last,
           an event is recorded.
        3. An older token, or the preceding one later on, ends the grant: it may have been stolen
           (RFC 9700 §4.14.2).

        Raises InvalidGrant in step 3, and for a generation that has not been yet or a grant that
        has ended, expired or was deleted. Call this outside a transaction, which the error would
        roll back with the grant's end.
        """
        now, address = timezone.now(), current_caller.get().address
        current_grants = Grant.objects.filter(pk=self.pk, generation=generation, ended_at=None)
        changes = {"generation": F("generation") + 1, "used_at": now, "used_from": address}
        if self.is_unended() and current_grants.update(**changes):
            self.generation = generation + 1
            return
        try:
            self.refresh_from_db(fields=["generation", "used_at", "used_from", "ended_at"])
        except Grant.DoesNotExist:  # the user was erased meanwhile
            raise InvalidGrant from None
        is_preceding = generation == self.generation - 1
        in_grace = self.used_at is not None and self.used_at > now - REFRESH_GRACE
        if not (self.is_unended() and is_preceding and in_grace):
            if self.generation > generation:
                self.end(COMMAND, reason="refresh token used twice")
            raise InvalidGrant
        if self.used_from != address:
            detail = self.event_detail() | {"first_address": self.used_from}
            audit.record(Kind.ASSISTANT_ELSEWHERE, actor=self.user, **detail)

    def end(self, actor: Actor, **detail: str) -> bool:
        """End the grant, and record the actor and `detail`. Returns False if it had already ended.
        The caller has checked that the actor is the user, support staff or a command. Raises
        Django's PermissionDenied for another, protected user's grant if the actor is no
        superuser."""
        if actor != self.user:
            actor.require_can_manage(self.user)
        with transaction.atomic():
            open_grants = Grant.objects.filter(pk=self.pk, ended_at=None)
            has_ended = bool(open_grants.update(ended_at=timezone.now()))
            if has_ended:
                details = self.event_detail() | detail
                audit.record(Kind.ASSISTANT_ENDED, actor=actor, subject=self.user, **details)
        return has_ended

    def event_detail(self) -> dict[str, Any]:
        """The detail of audit events about the grant. The name in `claims` is unverified."""
        document = {"document": self.client.url} if self.client.url else {}
        claims = {"client": self.client.name}
        return {"grant": str(self.pk), "host": self.host, **document, "claims": claims}
