"""GET /invitations: the company's invitations and what has become of them."""

import datetime

import pytest
from django.utils import timezone

from invitations.models import Invitation, Status

pytestmark = pytest.mark.django_db


@pytest.fixture
def one_of_each(ada):
    """An invitation in each status, by status."""
    now = timezone.now()
    facts = {
        "pending": {},
        "accepted": {"used_at": now, "expires_at": now - datetime.timedelta(days=1)},
        "revoked": {"revoked_at": now, "expires_at": now - datetime.timedelta(days=1)},
        "expired": {"expires_at": now},
    }
    made = {}
    for status, fields in facts.items():
        made[status] = Invitation.objects.invite(ada, f"{status}@example.com")
        Invitation.objects.filter(pk=made[status].pk).update(**fields)
    return made


def test_newest_first(as_ada, one_of_each):
    body = as_ada.get("/invitations").json()

    assert [item["status"] for item in body["items"]] == list(one_of_each)[::-1]
    assert (body["page"], body["per_page"], body["total"]) == (1, 20, 4)


@pytest.mark.parametrize("status", Status.values)
def test_status_filter_and_field_agree(as_ada, one_of_each, status):
    (item,) = as_ada.get(f"/invitations?status={status}").json()["items"]

    assert (item["status"], item["email"]) == (status, f"{status}@example.com")


def test_status_follows_the_clock(as_ada, invitation, time_machine):
    time_machine.move_to(invitation.expires_at - datetime.timedelta(seconds=1), tick=False)
    before = Invitation.objects.get().status
    time_machine.move_to(invitation.expires_at, tick=False)

    assert (before, Invitation.objects.get().status) == ("pending", "expired")
    assert Invitation.objects.in_status("expired").exists()


def test_pages(as_ada, one_of_each):
    body = as_ada.get("/invitations?page=2&per_page=3").json()

    assert [item["status"] for item in body["items"]] == ["pending"]
    assert body["total"] == 4
