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
from accounts.tokens import NO_CLAIMS, PROVIDER_METHOD, find_session_user
from assistants import documents, redirects, registration
from assistants.errors import InvalidClient, InvalidGrant, UnusableMetadata
from audit.actors import COMMAND, Actor
from audit.models import Kind
from base.batches import delete_in_batches
from base.caller import current_caller
from base.pkce import challenge_of

CODE_LIFETIME = timedelta(seconds=60)  # from the consent until the client redeems the code
REFRESH_GRACE = timedelta(seconds=30)  # in which the preceding refresh token still works
ENDED_GRANTS_KEPT = timedelta(days=30)  # so that support can look them up
UNUSED_KEPT = timedelta(days=1)  # clients without a grant, and grants that were not redeemed
MAX_UNUSED_CLIENTS = 10_000  # rows without a grant
CONSENT_TIME = timedelta(hours=1)  # for a user to be sent here, sign in and decide
CODE_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")  # RFC 7636 §4.1
SELECT_OPEN_GRANT = "SELECT * FROM assistants_grant WHERE id = %s AND ended_at IS NULL"
# Salts of tokens signed with SECRET_KEY.
CODE_SALT, REFRESH_TOKEN_SALT = "assistants.code", "assistants.refresh_token"
ACCESS_TOKEN_SALT = "assistants.access_token"  # noqa: S105


class ClientQuerySet(models.QuerySet["Client"]):
    def find_by_client_id(self, client_id: str) -> "Client":
        """The client with this `client_id`. Raises InvalidClient for an unknown one."""
        try:
            if documents.is_document_url(client_id):
                return self.get(url=client_id)
            return self.get(pk=uuid.UUID(client_id))
        except (ValueError, Client.DoesNotExist):
            raise InvalidClient from None

    def find_or_fetch(self, client_id: str, count_fetch: Callable[[], object]) -> "Client":
        """The client with this `client_id`. If it is a URL, the metadata document there is fetched
        and stored, unless the stored one is fresh. If no valid document can be fetched, the stored
        one counts as fresh for MIN_CACHE_TIME. Without ASSISTANT_METADATA_DOCUMENTS nothing is
        fetched, and a stored one is found, fresh or not.

        `count_fetch` is called before a fetch, and may raise TooManyAttempts. Raises InvalidClient
        for a client_id that is not stored and not fetched, and UnusableMetadata for a URL without a
        valid document and without a stored one.
        """
        if not settings.ASSISTANT_METADATA_DOCUMENTS or not documents.is_document_url(client_id):
            return self.find_by_client_id(client_id)
        clients, now = self.filter(url=client_id), timezone.now()
        fresh_client = clients.filter(fresh_until__gt=now).first()
        if fresh_client is not None:
            return fresh_client
        count_fetch()
        try:
            client_fields, cache_time = documents.fetch_client(client_id)
        except UnusableMetadata:
            if clients.update(fresh_until=now + documents.MIN_CACHE_TIME):
                return clients.get()
            raise
        self.delete_oldest_unused()
        values = client_fields | {"fresh_until": now + cache_time}
        return self.update_or_create(url=client_id, defaults=values)[0]

    def register_client(self, name: str, redirect_uris: list[str]) -> "Client":
        """Create a client with values of `read_client_metadata`. Deletes the oldest unused ones if
        there are too many."""
        self.delete_oldest_unused()
        return self.create(name=name, redirect_uris=redirect_uris)

    def delete_oldest_unused(self) -> None:
        """Delete the oldest clients without a grant, so that with another one there are at most
        MAX_UNUSED_CLIENTS, since anyone can register clients. Clients younger than CONSENT_TIME
        stay, even beyond that number: a user may be about to authorise one."""
        unused_clients = self.filter(grants=None).order_by("-created_at")
        dates = unused_clients.values_list("created_at", flat=True)
        for date in dates[MAX_UNUSED_CLIENTS - 1 : MAX_UNUSED_CLIENTS]:
            latest = min(date, timezone.now() - CONSENT_TIME)
            delete_in_batches(unused_clients.filter(created_at__lte=latest))

    def prune_expired(self) -> int:
        """Delete clients older than UNUSED_KEPT that have no grant. Returns their number."""
        unused_clients = self.filter(grants=None, created_at__lte=timezone.now() - UNUSED_KEPT)
        return delete_in_batches(unused_clients)


class Client(models.Model):
    """An app that registered itself (RFC 7591) or has a metadata document at `url`. It has no
    secret, and its name is its own claim. Only its redirect URIs and the document's host are
    certain."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField("claimed name", max_length=100)
    redirect_uris = models.JSONField("redirect URIs", default=list)
    url = models.CharField(  # noqa: DJ001  (it is unique, so registered apps need null)
        "metadata document",
        max_length=documents.MAX_URL_CHARACTERS,
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
    """The grant's id and the number in a token signed with this salt. Both are 0 if the token is
    invalid; no grant has that id."""
    try:
        pk, number = signing.Signer(salt=salt).unsign_object(token)
        return uuid.UUID(pk), number
    except (signing.BadSignature, ValueError):
        return uuid.UUID(int=0), 0


class GrantQuerySet(models.QuerySet["Grant"]):
    def live(self) -> Self:
        """Redeemed grants that have neither ended nor expired, of active users whose sessions (for
        a grant from one at the provider, sessions there) have not been ended since the consent. A
        client can use them, but for those that `is_live` also refuses: of users who must by now use
        the company's provider."""
        session_tag = F("user__account__identity_provider__session_tag")
        return self.filter(
            Q(session_end=None) | Q(session_end__gt=timezone.now()),
            Q(provider_tag=None) | Q(provider_tag=session_tag),
            redeemed_at__isnull=False,
            ended_at=None,
            created_at__gt=timezone.now() - Grant.lifetime(),
            user__is_active=True,
            user__token_version=F("token_version"),
        )

    def find_by_access_token(self, token: str) -> "Grant | None":
        """The grant of an access token, also if this queryset leaves it out; None if the token is
        invalid or expired, or the grant has ended. The caller checks the user by
        `find_session_user`. Plain SQL makes a tool's call a tenth faster."""
        pk, expires = read_grant_token(ACCESS_TOKEN_SALT, token)
        grants = self.raw(SELECT_OPEN_GRANT, [pk.hex]) if expires > time.time() else ()
        return next(iter(grants), None)

    def find_by_token(self, client: Client, salt: str, token: str) -> tuple["Grant", int]:
        """The grant of the client's code (`salt` is CODE_SALT) or refresh token, with user and
        client, and the generation of the refresh token, 0 for a code. The grant may have ended.
        Raises InvalidGrant for an invalid token, another client's, and one whose grant was deleted.
        """
        pk, generation = read_grant_token(salt, token)
        grant = self.select_related("user", "client").filter(pk=pk, client=client).first()
        if grant is None:
            raise InvalidGrant
        return grant, generation

    def end_all(self) -> int:
        """End this queryset's live grants; those not redeemed yet stay. Returns their number.
        Records no event: the caller records one for all."""
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

    Its code and tokens are not stored: they hold the grant's id and a number, and are signed with
    SECRET_KEY. The number is 0 in a code and the expiry in an access token. In a refresh token it
    is the `generation`, which each refresh increments, so older tokens are recognised.

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
        """The claims of the session that the grant is from, as far as they decide whether it may go
        on; none unless that began at the company's provider."""
        if self.provider_tag is None:
            return NO_CLAIMS
        return {"amr": [PROVIDER_METHOD], "provider": self.provider_tag}

    @property
    def authorization_code(self) -> str:
        return signing.Signer(salt=CODE_SALT).sign_object([str(self.pk), 0])

    def token_response(self) -> dict[str, object]:
        """The body of the token endpoint's answer, with the current tokens (RFC 6749 §5.1)."""
        now, grant_end = int(time.time()), int(self.expires_at.timestamp())
        token_end = min(now + settings.ACCESS_TOKEN_SECONDS, grant_end)
        return {
            "access_token": signing.Signer(salt=ACCESS_TOKEN_SALT).sign_object(
                [str(self.pk), token_end]
            ),
            "token_type": "Bearer",
            "expires_in": max(token_end - now, 0),
            "refresh_token": signing.Signer(salt=REFRESH_TOKEN_SALT).sign_object(
                [str(self.pk), self.generation]
            ),
            "scope": registration.SCOPE,
        }

    def is_live(self) -> bool:
        """Whether the grant has neither ended nor expired, and its user is active and was not
        signed out since the consent. False also if the grant is from a session at the company's
        provider, and such sessions have ended since, or is another grant of a user who must use the
        provider. True also before the code is redeemed."""
        return (
            self.ended_at is None
            and self.expires_at > timezone.now()
            and find_session_user(self.user_id, self.token_version, self.claims) is not None
        )

    def can_be_redeemed(self) -> bool:
        """Whether the code is unused and not too old, and the grant has not ended, by the row as it
        was loaded."""
        is_recent = self.created_at > timezone.now() - CODE_LIFETIME
        return is_recent and self.redeemed_at is None and self.ended_at is None

    def redeem(self, verifier: str) -> None:
        """Use the code up, record the connection and mail the user. Of several requests, one UPDATE
        lets one redeem the code.

        Raises InvalidGrant for a wrong PKCE verifier, which leaves the code valid; for a code that
        is older than CODE_LIFETIME or was used, whose second use ends the grant (RFC 9700 §2.1.1);
        and if the grant is not live. Call it outside a transaction, which the error would roll back
        with that end."""
        is_verified = constant_time_compare(challenge_of(verifier), self.code_challenge)
        if not (is_verified and CODE_VERIFIER.fullmatch(verifier)):
            raise InvalidGrant
        now = timezone.now()
        unused_grants = Grant.objects.filter(pk=self.pk, redeemed_at=None, ended_at=None)
        redeemable_grants = unused_grants.filter(created_at__gt=now - CODE_LIFETIME)
        with transaction.atomic():
            is_redeemed = self.is_live() and redeemable_grants.update(redeemed_at=now, used_at=now)
            if is_redeemed:
                audit.record(Kind.ASSISTANT_CONNECTED, actor=self.user, **self.event_detail())
                self.user.send_notice("assistant_let_in", client=self.client.name, host=self.host)
        if not is_redeemed:
            if Grant.objects.filter(pk=self.pk, redeemed_at__isnull=False).exists():
                self.end(COMMAND, reason="code used twice")
            raise InvalidGrant

    def rotate_refresh_token(self, generation: int) -> None:
        """Replace the refresh token of this generation. One conditional UPDATE decides races.

        1. The current token is replaced by that of the next generation.
        2. The preceding token is exchanged for the current one, for REFRESH_GRACE after the latest
           refresh: clients refresh in parallel and lose answers. If another address refreshed last,
           an event is recorded.
        3. An older token, or the preceding one later on, ends the grant: it may have been stolen
           (RFC 9700 §4.14.2).

        `token_response` then has the current token. Raises InvalidGrant in step 3, and if the grant
        is not live or was deleted. Call it outside a transaction, as `redeem`.
        """
        now, address = timezone.now(), current_caller.get().address
        current_grants = Grant.objects.filter(pk=self.pk, generation=generation, ended_at=None)
        changes = {"generation": F("generation") + 1, "used_at": now, "used_from": address}
        if self.is_live() and current_grants.update(**changes):
            self.generation = generation + 1
            return
        try:
            self.refresh_from_db(fields=["generation", "used_at", "used_from", "ended_at"])
        except Grant.DoesNotExist:  # the user was erased meanwhile
            raise InvalidGrant from None
        is_preceding = generation == self.generation - 1
        in_grace = self.used_at is not None and self.used_at > now - REFRESH_GRACE
        if not (self.is_live() and is_preceding and in_grace):
            if self.generation > generation:
                self.end(COMMAND, reason="refresh token used twice")
            raise InvalidGrant
        if self.used_from != address:
            detail = self.event_detail() | {"first_address": self.used_from}
            audit.record(Kind.ASSISTANT_ELSEWHERE, actor=self.user, **detail)

    def end(self, actor: Actor, **detail: str) -> bool:
        """End the grant, and record the actor and `detail`. Returns False if it had already ended.

        The caller has checked that the actor is the user, support staff or a command. Raises
        PermissionDenied for the grant of another user who is protected, if the actor is no
        superuser.
        """
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
