"""POST /invitations with a list; the filters, search and order of GET /invitations."""

import datetime

import pytest
from django.utils import timezone

from invitations.models import Invitation
from mail.outbox import MailState, OutgoingMail
from worker.rounds import Worker

pytestmark = pytest.mark.django_db


def invite(client, *emails, **fields):
    body = {"invitations": [{"email": email} | fields for email in emails]}
    return client.post("/invitations", body)


def listed(client, query):
    return [item["email"] for item in client.get(f"/invitations?{query}").json()["items"]]


def test_several_invitations_are_answered_in_order(as_ada, ada, bob):
    Invitation.objects.invite(ada, "again@example.com")
    answer = invite(
        as_ada, "new@example.com", bob.email, "x", "again@example.com", "NEW@example.com"
    )

    assert answer.status_code == 200
    first, *refused = answer.json()["items"]
    assert first == as_ada.get("/invitations?search=new@").json()["items"][0]
    errors = [(item["email"], item["error"]) for item in refused]
    assert errors == [
        (bob.email, "already a member"),
        ("x", "invalid request"),
        ("again@example.com", "already invited"),
        ("NEW@example.com", "already invited"),
    ]
    assert refused[1]["fields"] == {"email": ["Enter a valid email address."]}


@pytest.mark.parametrize("field", ["email", "role", "consultant_id", "language"])
@pytest.mark.parametrize(
    "value", [r'"\ud800"', r'"a\u0000\u0007b"', "5", "null", '["a"]', '{"a": 1}']
)
def test_invalid_invitation_is_answered_with_a_printable_address(as_ada, field, value):
    item = f'{{"email": "new@example.com", "{field}": {value}}}'
    answer = as_ada.post("/invitations", f'{{"invitations": [{item}]}}')

    (said,) = answer.json()["items"]
    assert answer.status_code == 200
    assert said.get("error", "invalid request") == "invalid request"
    assert said["email"].isprintable()


@pytest.mark.parametrize("several", [[], [{"email": "a@example.com"}] * 51, {}, "x", [1]])
def test_number_of_invitations_in_a_request_is_bounded(as_ada, several):
    answer = as_ada.post("/invitations", {"invitations": several})

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid request")
    assert list(answer.json()["fields"]) == ["invitations"]
    assert not Invitation.objects.exists()


def test_each_of_several_invitations_counts_as_a_request(as_ada, settings):
    settings.RATE_LIMIT_AUTHENTICATED = 3
    answer = invite(as_ada, *[f"new{n}@example.com" for n in range(5)])

    errors = [item.get("error") for item in answer.json()["items"]]
    assert errors == [None, None, None, "rate_limited", "rate_limited"]
    assert answer["x-ratelimit-remaining"] == "0"
    assert as_ada.get("/users").status_code == 429


def test_daily_limit_refuses_the_rest_of_several_invitations(as_ada, settings):
    settings.INVITATIONS_PER_DAY = 1

    errors = [item.get("error") for item in invite(as_ada, "a@b.de", "c@d.de").json()["items"]]
    assert errors == [None, "no more invitations today"]
    assert Invitation.objects.get().email == "a@b.de"


def test_invitations_language_is_the_inviters_by_default(as_ada):
    invite(as_ada, "de@example.com", language="de")
    invite(as_ada, "en@example.com")
    refused = as_ada.post("/invitations", {"email": "x@example.com", "language": "xx"})

    languages = dict(Invitation.objects.values_list("email", "language"))
    assert languages == {"de@example.com": "de", "en@example.com": "en"}
    assert list(refused.json()["fields"]) == ["language"]


@pytest.mark.parametrize(
    ("facts", "mail"),
    [({}, "waiting"), ({"state": MailState.READY, "problem": "SMTPDataError 451"}, "waiting"),
     ({"state": MailState.REFUSED, "problem": "SMTPRecipientsRefused 550"}, "refused"),
     ({"state": MailState.FAILED, "problem": "OSError"}, "refused"),
     ({"state": MailState.SENT}, "sent")],
)  # fmt: skip
def test_invitation_shows_the_state_of_its_mail(as_ada, ada, facts, mail):
    Invitation.objects.invite(ada, "new@example.com")
    OutgoingMail.objects.update(**facts)

    (item,) = as_ada.get("/invitations").json()["items"]
    assert item["mail"] == mail


def test_mail_of_an_invitation_sent_again_is_waiting(as_ada, ada):
    invitation = Invitation.objects.invite(ada, "new@example.com")
    Worker().work_round()

    assert as_ada.post(f"/invitations/{invitation.pk}/resend").json()["mail"] == "waiting"


def test_invitations_are_filtered_searched_and_ordered(as_ada, ada):
    for number, (email, role) in enumerate([("b@x.de", "admin"), ("a@y.de", "member")]):
        invitation = Invitation.objects.invite(ada, email, role)
        created_at = timezone.now() + datetime.timedelta(seconds=number)
        Invitation.objects.filter(pk=invitation.pk).update(created_at=created_at)

    assert listed(as_ada, "") == ["a@y.de", "b@x.de"]
    assert (
        listed(as_ada, "sort=created_at") == listed(as_ada, "sort=-email") == ["b@x.de", "a@y.de"]
    )
    assert listed(as_ada, "role=admin&status=pending") == ["b@x.de"]
    assert listed(as_ada, "search=Y.DE") == ["a@y.de"]
    assert listed(as_ada, "search=y.de" + "%20" * 96 + "x" * 1_000) == ["a@y.de"]
    assert as_ada.get("/invitations?sort=role").status_code == 400
