"""GET /events: the audit log as a feed, for services that keep a copy (CloudEvents 1.0).

On PostgreSQL events are in the order of their transactions (`xact`, a column of audit migration
0012). An event is shown once every transaction that began to write before its own has ended. In the
order of ids, readers would miss events of transactions that commit late. SQLite has one writer at a
time, so its events are in the order of ids.
"""

import json
from collections.abc import Iterator, Set
from datetime import timedelta
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import connection, models
from django.db.models import Max, Value
from django.db.models.expressions import RawSQL
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from api.fields import TextField
from api.openapi import JsonObject, Raises, example
from api.views import ProtectedView, Scope, SignedInRequest
from apikeys.errors import ExpiredCursor, InvalidCursor
from apikeys.models import ApiKey
from audit.actors import Actor
from audit.models import AuditEvent, Kind

SALT = "apikeys.cursor"
LATEST = "latest"
DEFAULT_LIMIT, MAX_LIMIT = 500, 1000  # events in an answer
LAST_ID = 2**63 - 1
NDJSON = "application/x-ndjson"
# The parts of an event's detail that a copy needs, and that name nobody.
SHOWN_DETAIL = ["role", "fields", "second_factor", "time_zone", "keeps_password", "scopes"]
SHOWN_DETAIL += ["active", "required"]

HELD_BACK = """
SELECT extract(epoch FROM now() - at) FROM {table}
WHERE xact >= pg_snapshot_xmin(pg_current_snapshot()) AND id > %s ORDER BY xact, id LIMIT 1
"""


class Era(NamedTuple):
    """The time since the newest restore of the database, by id and time of its event; `Era()` if
    there was none. Older events have positions of another server."""

    event_id: int = 0
    began_at: str = ""

    @classmethod
    def current(cls) -> Self:
        restored = AuditEvent.objects.filter(kind=Kind.RESTORED).order_by("-id").first()
        return cls(restored.pk, restored.at.isoformat()) if restored else cls()


class Cursor(NamedTuple):
    """A position in the feed, up to which a reader has read. As text it is signed and dated."""

    era: Era
    xact: int = 0
    id: int = 0

    def __str__(self) -> str:
        return signing.dumps([*self.era, str(self.xact), self.id], salt=SALT)

    @classmethod
    def from_text(cls, text: str, era: Era) -> Self:
        """The position that the parameter `after` names: the beginning of `era`, the present one,
        for "", its end for LATEST. Raises InvalidCursor for a text that this service hasn't signed.

        Raises ExpiredCursor if events after the position may be missing: the cursor is of another
        era, is older than AUDIT_KEEP_DAYS, or lies in the future, since a backup was restored
        without `afterrestore`.
        """
        end = end_of_feed()
        if not text:
            return cls(era)
        if text == LATEST:
            return cls(era, *end)
        try:
            event_id, began_at, xact, pk = signing.loads(
                text, salt=SALT, max_age=timedelta(days=settings.AUDIT_KEEP_DAYS)
            )
        except signing.SignatureExpired:
            raise ExpiredCursor from None
        except signing.BadSignature:
            raise InvalidCursor from None
        cursor = cls(Era(event_id, began_at), int(xact), pk)
        if cursor.era != era or cursor[1:] > end:
            raise ExpiredCursor
        return cursor


def end_of_feed() -> tuple[int, int]:
    """The position, as `xact` and id, up to which all events can be shown. It is not the newest
    event's: an open transaction may commit an event before that one."""
    if connection.vendor == "sqlite":
        return 0, AuditEvent.objects.aggregate(newest=Max("pk"))["newest"] or 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text")
        return int(cursor.fetchone()[0]) - 1, LAST_ID


def held_back_seconds() -> float:
    """The age in seconds of the first event that GET /events can't show yet, since an earlier
    transaction is still open; 0.0 if there is none."""
    if connection.vendor == "sqlite":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute(HELD_BACK.format(table=AuditEvent._meta.db_table), [Era.current().event_id])
        row = cursor.fetchone()
    return float(row[0]) if row else 0.0


def events_after(position: Cursor, company_id: UUID | None, limit: int) -> list[Any]:
    """The first events after the position, of the current era and in the feed's order, at most
    `limit`; of all companies if `company_id` is None. Ends before events that an open transaction
    may precede. Each AuditEvent has its transaction's number as `xact`: digits, or 0 on SQLite."""
    events = AuditEvent.objects.filter(pk__gt=position.era.event_id)
    if company_id:
        events = events.filter(account_id=company_id)
    if connection.vendor == "sqlite":
        next_events = events.filter(pk__gt=position.id).annotate(xact=Value(0)).order_by("pk")
    else:
        is_next = RawSQL(
            "(xact, id) > (%s::xid8, %s) AND xact < pg_snapshot_xmin(pg_current_snapshot())",
            [str(position.xact), position.id],
            models.BooleanField(),
        )
        next_events = events.filter(is_next).annotate(xact=RawSQL("xact", []))
        next_events = next_events.order_by("xact", "pk")
    return list(next_events[:limit])


def named_actors(events: list[AuditEvent], reader: Actor) -> Set[UUID | None]:
    """The ids of those actors of the events whom the reader may know: of its own company, and the
    aliases of erased users. A reader without a company may know all."""
    actors = {event.actor_id for event in events if event.actor_id}
    aliases = {pk for pk in actors if pk.version == 5}  # audit.pseudonyms.alias_of
    return aliases | reader.names_of(actors).keys() if reader.account_id else actors


def cloud_events(events: list[AuditEvent], reader: Actor) -> Iterator[JsonObject]:
    """Each event as an object of CloudEvents 1.0, for DRF's JSON encoder: its time is a datetime.
    `actor` is None where the reader, such as an API key, may not know the actor."""
    actors = named_actors(events, reader)
    for event in events:
        data = {
            "actor": event.actor_id if event.actor_id in actors else None,
            "company": event.account_id,
            **{name: event.detail[name] for name in SHOWN_DETAIL if name in event.detail},
        }
        yield {
            "specversion": "1.0",
            "id": str(event.pk),
            "source": settings.SERVICE_URL,
            "type": event.kind,
            **({"subject": str(event.subject_id)} if event.subject_id else {}),
            "time": event.at,
            "data": data,
        }


class FeedQuerySerializer(serializers.Serializer):
    """The query of GET /events."""

    after = TextField(
        required=False,
        allow_blank=True,
        default="",
        help_text="The `next` of the answer before; `latest` for the present position. Without it, "
        "the oldest events.",
    )
    limit = serializers.IntegerField(
        min_value=1,
        default=DEFAULT_LIMIT,
        help_text=f"More than {MAX_LIMIT} counts as {MAX_LIMIT}.",
    )


class CloudEventSerializer(serializers.Serializer):
    specversion = serializers.CharField()
    id = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    type = serializers.CharField(help_text="A kind of event, as in GET /audit.")
    subject = serializers.CharField(
        required=False, help_text="The id of the user or thing it was done to."
    )
    time = serializers.DateTimeField()
    data = serializers.DictField(  # type: ignore[assignment]
        help_text="`actor` and `company`, ids or null; of some kinds the new values."
    )


@example(
    {
        "items": [
            {
                "specversion": "1.0",
                "id": "4711",
                "source": "https://api.example.com",
                "type": "user.role",
                "subject": "3c1f4c2f-8d4e-4d38-9a53-6f6d6a0a4f0e",
                "time": "2026-03-02T08:45:00.500000Z",
                "data": {
                    "actor": "0b9a3a52-6d0e-4a7e-9d5b-5f4f0f3a7c11",
                    "company": "6f1d2c1e-3f0f-4f61-8e3a-2f7c1f0a9b42",
                    "role": "admin",
                },
            }
        ],
        "next": "WzAsIiIsIjc3MSIsNDcxMV0:1vxK2m:…",
        "more": False,
    }
)
class FeedResponse(serializers.Serializer):
    items = CloudEventSerializer(many=True)
    next = serializers.CharField(help_text="For `after`, also if nothing was new.")
    more = serializers.BooleanField(help_text="Whether more events are waiting.")


class FeedView(ProtectedView):
    """GET /events, for API keys. Users get 403."""

    key_scopes = {"GET": Scope.EVENTS_READ}

    @extend_schema(
        operation_id="readEvents",
        summary="Read what has happened since",
        description="For API keys with `events:read`. Without `after`, begins with the oldest "
        "event. No event is missed or comes before another "
        f"that was already read. With `Accept: {NDJSON}` one event a line, and the next page in "
        "the Link header alone. After 410: keep `latest`, read all users, and follow from there; "
        "also read all users after `person.erased` and `company.deleted`.",
        parameters=[
            FeedQuerySerializer,
            OpenApiParameter("Link", str, "header", response=[200], description="The next page."),
        ],
        responses={
            200: FeedResponse,
            400: Raises(InvalidCursor),
            410: Raises(ExpiredCursor),
        },
    )
    def get(self, request: SignedInRequest) -> HttpResponseBase:
        if not isinstance(request.auth, ApiKey):
            raise PermissionDenied
        query = self.validated_query(FeedQuerySerializer)
        limit, company_id = min(query["limit"], MAX_LIMIT), request.user.account_id
        position = Cursor.from_text(query["after"], Era.current())
        events = [] if query["after"] == LATEST else events_after(position, company_id, limit + 1)
        has_more, events = len(events) > limit, events[:limit]
        if events:
            position = Cursor(position.era, int(events[-1].xact), events[-1].pk)
        items, next_cursor = list(cloud_events(events, request.user)), str(position)
        link = urlencode({"after": next_cursor, "limit": limit})
        headers = {"Link": f'<{settings.SERVICE_URL}/events?{link}>; rel="next"'}
        if NDJSON in request.headers.get("Accept", ""):
            lines = "".join(json.dumps(item, cls=JSONEncoder) + "\n" for item in items)
            return HttpResponse(lines, content_type=NDJSON, headers=headers)
        body = {"items": items, "next": next_cursor, "more": has_more}
        return Response(body, headers=headers)
