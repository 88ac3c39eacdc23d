"""GET /events: nothing is lost, nothing comes before what was read, nothing is told to others."""

import json
import time
import uuid
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
import time_machine
from django.conf import settings as django_settings
from django.core import signing
from django.db import connection

import audit
from api.views import Scope
from apikeys import feed
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from config.metrics import state_of_database
from privacy.models import Erasure
from tests import servers
from tests.apikeys.conftest import client_of

# Its own transaction holds the feed back: a test must commit what it writes.
pytestmark = pytest.mark.django_db(transaction=True)
INSERT = """
INSERT INTO audit_record (kind, at, actor_email, subject_id, subject, account_id, address, agent,
    detail) VALUES ('profile.changed', now(), '', %s, 's', %s, '', '', '{}') RETURNING id
"""


@pytest.fixture
def reader(by_key):
    return by_key(Scope.EVENTS_READ)


def read(api, after="", **query):
    answer = api.get("/events", data={"after": after, **query})
    assert answer.status_code == 200, answer.json()
    return answer.json()


def follow(api, after="", **query):
    """All events from a position on, page by page."""
    items, more = [], True
    while more:
        page = read(api, after, **query)
        after, more = page["next"], page["more"]
        items += page["items"]
    return items


def at_latest(api):
    return read(api, "latest")["next"]


@pytest.fixture
def other_connection():
    with psycopg.connect(servers.POSTGRES.url(connection.settings_dict["NAME"])) as other:
        yield other


def test_event_is_a_cloud_event(reader, ada, bob):
    after = at_latest(reader)
    bob.update_role_or_active(ada, role="admin")

    [item] = read(reader, after)["items"]

    assert item == {
        "specversion": "1.0",
        "id": str(AuditEvent.objects.latest("id").pk),
        "source": django_settings.SERVICE_URL,
        "type": "user.role",
        "subject": str(bob.pk),
        "time": item["time"],
        "data": {"actor": str(ada.pk), "company": str(ada.account_id), "role": "admin"},
    }


def test_detail_is_whitelisted_and_addresses_are_not_told(reader, ada):
    after = at_latest(reader)
    audit.record(Kind.EMAIL_CHANGED, actor=ada, old="old@example.com", reason="x")
    audit.record(Kind.INVITATION_CREATED, actor=ada, subject="c@example.com", role="member")

    changed, invited = read(reader, after)["items"]

    assert changed["data"].keys() == {"actor", "company"}
    assert invited["data"] == changed["data"] | {"role": "member"}
    assert "subject" not in invited
    assert "@" not in json.dumps([changed, invited])


def test_event_of_a_transaction_that_commits_late_is_not_lost(reader, ada, other_connection):
    """A feed in the order of ids would have shown the newer event first, and passed the older."""
    after = at_latest(reader)
    late, early = uuid.uuid4(), uuid.uuid4()
    other_connection.execute(INSERT, [late, ada.account_id])
    audit.record(Kind.PROFILE_CHANGED, actor=ada, subject=audit.Subject(early, "s"))

    page = read(reader, after)
    assert (page["items"], page["more"]) == ([], False)
    other_connection.commit()

    items = follow(reader, page["next"])
    assert [item["subject"] for item in items] == [str(late), str(early)]


def test_latest_is_before_transactions_that_are_open(reader, ada, other_connection):
    subject = uuid.uuid4()
    other_connection.execute(INSERT, [subject, ada.account_id])
    audit.record(Kind.PROFILE_CHANGED, actor=ada)
    after = at_latest(reader)
    other_connection.commit()

    assert str(subject) in [item.get("subject") for item in follow(reader, after)]


def test_metrics_tell_how_long_an_open_transaction_holds_events_back(ada, other_connection):
    def held_back():
        samples = {gauge.name: gauge.samples for gauge in state_of_database()}
        return samples["events_held_back_seconds"][0].value

    audit.record(Kind.PROFILE_CHANGED, actor=ada)
    assert held_back() == 0
    other_connection.execute(INSERT, [uuid.uuid4(), ada.account_id])
    audit.record(Kind.PROFILE_CHANGED, actor=ada)
    time.sleep(0.05)
    assert 0.05 <= held_back() < 60
    other_connection.commit()
    assert held_back() == 0


def test_events_from_before_a_restore_are_not_held_back(ada):
    """The new server has given fewer transaction ids than the one of the backup."""
    later = INSERT.replace("detail)", "detail, xact)").replace("'{}')", "'{}', '1000000000')")
    with connection.cursor() as cursor:
        cursor.execute(later, [uuid.uuid4(), ada.account_id])
    assert feed.held_back_seconds() > 0

    audit.record(Kind.RESTORED, subject="everybody")

    assert feed.held_back_seconds() == 0


def test_pages_follow_one_another(reader, ada):
    after = at_latest(reader)
    for number in range(5):
        audit.record(Kind.PROFILE_CHANGED, actor=ada, fields=[str(number)])

    page = read(reader, after, limit=2)
    answer = reader.get("/events", data={"after": page["next"], "limit": 2})
    link = answer.headers["Link"]

    assert ([len(page["items"]), page["more"]], len(answer.json()["items"])) == ([2, True], 2)
    query = parse_qs(urlsplit(link[1:].partition(">")[0]).query)
    assert link.endswith('>; rel="next"')
    last = read(reader, query["after"][0])
    assert (last["items"][0]["data"]["fields"], last["more"]) == (["4"], False)
    numbers = [item["data"]["fields"][0] for item in follow(reader, after, limit=2)]
    assert numbers == list("01234")


def test_limit_is_500_by_default_and_1000_at_most(reader, ada):
    after = at_latest(reader)
    event = {"kind": Kind.PROFILE_CHANGED, "account_id": ada.account_id}
    AuditEvent.objects.bulk_create(AuditEvent(**event) for _ in range(1001))

    lengths = [len(read(reader, after, **query)["items"]) for query in ({}, {"limit": 5000})]
    assert lengths == [500, 1000]
    for limit in (0, -1, "x"):
        assert reader.get("/events", data={"limit": limit}).status_code == 400


def test_lines_of_json(reader, ada):
    after = at_latest(reader)
    for _ in range(2):
        audit.record(Kind.PROFILE_CHANGED, actor=ada)

    headers = {"accept": "application/x-ndjson"}
    answer = reader.get("/events", data={"after": after}, headers=headers)

    lines = answer.content.decode().splitlines()
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert [json.loads(line) for line in lines] == read(reader, after)["items"]
    assert 'rel="next"' in answer.headers["Link"]
    refused = reader.get("/events", data={"after": "x"}, headers=headers)
    assert (refused.status_code, refused.json()) == (400, {"error": "invalid cursor"})


def test_company_reads_its_events_alone(reader, ada, eve, operators_key):
    mine, all_ = at_latest(reader), at_latest(operators_key)
    for user in (ada, eve):
        audit.record(Kind.PROFILE_CHANGED, actor=user)

    assert [item["subject"] for item in follow(reader, mine)] == [str(ada.pk)]
    items = follow(operators_key, all_)
    assert [item["subject"] for item in items] == [str(ada.pk), str(eve.pk)]


def test_operators_are_not_named_to_a_company(reader, new_key, ada, bob, new_user, operators_key):
    boss = new_user(is_superuser=True, account=None)
    row, _ = new_key()
    mine, all_ = at_latest(reader), at_latest(operators_key)
    for actor in (boss, row, ada, COMMAND):
        audit.record(Kind.LOGOUT_EVERYWHERE, actor=actor, subject=bob)

    seen = [item["data"]["actor"] for item in follow(reader, mine)]
    assert seen == [None, str(row.pk), str(ada.pk), None]
    assert follow(operators_key, all_)[0]["data"]["actor"] == str(boss.pk)


def test_users_and_other_keys_read_no_events(as_ada, by_key, api):
    assert as_ada.get("/events").status_code == 403
    assert by_key(Scope.AUDIT_READ).get("/events").status_code == 403
    assert api.get("/events").status_code == 401


@pytest.mark.parametrize(
    "cursor", ["x", "a:b:c", signing.dumps([0, "", "1", 1])], ids=["x", "colons", "other salt"]
)
def test_strange_cursor_is_refused(reader, cursor):
    answer = reader.get("/events", data={"after": cursor})

    assert (answer.status_code, answer.json()) == (400, {"error": "invalid cursor"})


def is_expired(api, cursor):
    answer = api.get("/events", data={"after": cursor})
    return (answer.status_code, answer.json()) == (410, {"error": "read everything again"})


def test_cursor_ends_with_the_events_after_it(new_key, settings, reader, ada):
    cursor = at_latest(reader)
    beyond = timedelta(days=settings.AUDIT_KEEP_DAYS, seconds=9)

    with time_machine.travel(time.time() + beyond.total_seconds()):
        assert is_expired(client_of(new_key(Scope.EVENTS_READ)[1]), cursor)


def test_reader_that_idles_never_expires(new_key, settings, reader):
    cursor, day = at_latest(reader), 86_400
    for days in range(300, 1200, 300):
        with time_machine.travel(time.time() + days * day):
            cursor = read(client_of(new_key(Scope.EVENTS_READ)[1]), cursor)["next"]


def test_restore_ends_cursors_and_hides_what_was_before(reader, ada, operators_key):
    """The backup's events have positions of another server."""
    cursor = at_latest(reader)
    audit.record(Kind.PROFILE_CHANGED, actor=ada)
    audit.record(Kind.RESTORED, subject="everybody")

    assert is_expired(reader, cursor)
    after = at_latest(reader)
    assert follow(reader) == follow(reader, after) == []
    audit.record(Kind.RESTORED, subject="everybody")  # the same backup once more
    assert is_expired(reader, after)


def test_cursor_of_the_future_has_expired(reader):
    """After a restore without `afterrestore`: the new server has counted fewer transactions."""
    era, (xact, _) = feed.Era.current(), feed.end_of_feed()

    assert is_expired(reader, str(feed.Cursor(era, xact + 1000, 1)))
    read(reader, str(feed.Cursor(era, xact, feed.LAST_ID)))


def test_events_keep_their_place_when_a_user_is_erased(reader, ada, bob):
    after = at_latest(reader)
    bob.change_profile(bob, first_name="Robert")
    audit.record(Kind.PROFILE_CHANGED, actor=ada)
    before = [item["id"] for item in follow(reader, after)]

    erasure = Erasure.objects.erase_user(bob, COMMAND)
    erasure.process_batch()

    items = follow(reader, after)
    assert [item["id"] for item in items][:2] == before
    assert str(bob.pk) not in json.dumps(items)
    assert items[-1]["type"] == "person.erased"


def test_position_of_an_event_is_not_changed(ada):
    audit.record(Kind.PROFILE_CHANGED, actor=ada)

    with pytest.raises(Exception, match="append-only"), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_record SET xact = '1'")
