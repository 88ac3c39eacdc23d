"""GET /invitations: the company's invitations and their states."""

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
    invitations = {}
    for status, fields in facts.items():
        invitations[status] = Invitation.objects.invite(ada, f"{status}@example.com")
        Invitation.objects.filter(pk=invitations[status].pk).update(**fields)
    return invitations


def test_invitations_are_listed_in_pages_newest_first(as_ada, one_of_each):
    body = as_ada.get("/invitations").json()

    assert [item["status"] for item in body["items"]] == list(one_of_each)[::-1]
    assert (body["page"], body["per_page"], body["total"]) == (1, 20, 4)
    page = as_ada.get("/invitations?page=2&per_page=3").json()
    assert ([item["status"] for item in page["items"]], page["total"]) == (["pending"], 4)


@pytest.mark.parametrize("status", Status.values)
def test_filter_by_status_agrees_with_the_field(as_ada, one_of_each, status):
    (item,) = as_ada.get(f"/invitations?status={status}").json()["items"]

    assert (item["status"], item["email"]) == (status, f"{status}@example.com")


def test_status_of_an_invitation_follows_the_clock(as_ada, invitation, time_machine):
    time_machine.move_to(invitation.expires_at - datetime.timedelta(seconds=1), tick=False)
    before = Invitation.objects.get().status
    time_machine.move_to(invitation.expires_at, tick=False)

    assert (before, Invitation.objects.get().status) == ("pending", "expired")
    assert Invitation.objects.in_status("expired").exists()
