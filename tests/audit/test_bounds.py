"""The texts of audit events are bounded."""

import json

import pytest

import audit
from audit.models import AuditEvent, Kind
from base.caller import Caller

pytestmark = pytest.mark.django_db

NOISE = "\0\x1b\u202e" + "x" * 60_000


@pytest.mark.parametrize("detail", [NOISE, [NOISE], {"deep": [NOISE]}, (NOISE,)])
def test_no_text_of_an_event_is_long_or_unprintable(ada, detail):
    caller = Caller(agent=NOISE, claims={"client": NOISE})
    audit.record(Kind.PROFILE_CHANGED, actor=ada, subject=NOISE, caller=caller, what=detail)

    event = AuditEvent.objects.get()
    assert len(json.dumps(event.detail)) < 420
    assert (len(event.subject), len(event.agent)) == (254, 254)
