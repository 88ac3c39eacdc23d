"""The texts of audit events are bounded, and no event is lost among many others."""

import json

import pytest

import audit
from audit.models import AuditEvent, Kind
from base.caller import Caller
from tests.clients import bearer

pytestmark = pytest.mark.django_db

NOISE = "\0\x1b\u202e" + "x" * 60_000


@pytest.mark.parametrize("detail", [NOISE, [NOISE], {"deep": [NOISE]}, (NOISE,)])
def test_no_text_of_an_event_is_long_or_unprintable(ada, detail):
    caller = Caller(agent=NOISE, claims={"client": NOISE})
    audit.record(Kind.PROFILE_CHANGED, actor=ada, subject=NOISE, caller=caller, what=detail)

    event = AuditEvent.objects.get()
    assert len(json.dumps(event.detail)) < 420
    assert (len(event.subject), len(event.agent)) == (254, 254)


def test_promotion_after_300_others_is_in_the_audit_log(ada, bob, new_user):
    puppet, as_ada = new_user("puppet@example.com", account=ada.account), bearer(ada)
    for number in range(301):
        role = "member" if number % 2 else "admin"
        assert as_ada.patch(f"/users/{puppet.pk}", {"role": role}).status_code == 200

    as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})

    event = AuditEvent.objects.filter(kind=Kind.ROLE_CHANGED).latest("pk")
    assert (event.subject, event.subject_id) == (bob.email, bob.pk)
