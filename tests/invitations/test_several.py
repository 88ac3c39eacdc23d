"""POST /invitations with a list, and what GET /invitations filters, seeks and shows."""

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


def test_each_has_its_result_in_order(as_ada, ada, bob):
    Invitation.objects.invite(ada, "again@example.com")
    answer = invite(
        as_ada, "new@example.com", bob.email, "x", "again@example.com", "NEW@example.com"
    )

    assert answer.status_code == 200
    first, *others = answer.json()["items"]
    assert first == as_ada.get("/invitations?search=new@").json()["items"][0]
    said = [(item["email"], item["error"]) for item in others]
    assert said == [
        (bob.email, "already a member"),
        ("x", "invalid request"),
        ("again@example.com", "already invited"),
        ("NEW@example.com", "already invited"),
    ]
    assert others[1]["fields"] == {"email": ["Enter a valid email address."]}


@pytest.mark.parametrize("field", ["email", "role", "consultant_id", "language"])
@pytest.mark.parametrize(
    "value", [r'"\ud800"', r'"a\u0000\u0007b"', "5", "null", '["a"]', '{"a": 1}']
)
def test_invalid_item_comes_back_with_a_printable_address(as_ada, field, value):
    item = f'{{"email": "new@example.com", "{field}": {value}}}'
    answer = as_ada.post("/invitations", f'{{"invitations": [{item}]}}')

    (said,) = answer.json()["items"]
    assert answer.status_code == 200
    assert said.get("error", "invalid request") == "invalid request"
    assert said["email"].isprintable()


@pytest.mark.parametrize("several", [[], [{"email": "a@example.com"}] * 51, {}, "x", [1]])
def test_list_is_bounded(as_ada, several):
    answer = as_ada.post("/invitations", {"invitations": several})

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid request")
    assert list(answer.json()["fields"]) == ["invitations"]
    assert not Invitation.objects.exists()


def test_each_counts_as_a_request(as_ada, settings):
    settings.RATE_LIMIT_AUTHENTICATED = 3
    answer = invite(as_ada, *[f"new{n}@example.com" for n in range(5)])

    errors = [item.get("error") for item in answer.json()["items"]]
    assert errors == [None, None, None, "rate_limited", "rate_limited"]
    assert answer["x-ratelimit-remaining"] == "0"
    assert as_ada.get("/users").status_code == 429


def test_limit_of_the_day_ends_it(as_ada, settings):
    settings.INVITATIONS_PER_DAY = 1

    errors = [item.get("error") for item in invite(as_ada, "a@b.de", "c@d.de").json()["items"]]
    assert errors == [None, "no more invitations today"]


def test_language_is_the_inviters_unless_said(as_ada):
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
def test_admins_see_what_became_of_the_mail(as_ada, ada, facts, mail):
    Invitation.objects.invite(ada, "new@example.com")
    OutgoingMail.objects.update(**facts)

    (item,) = as_ada.get("/invitations").json()["items"]
    assert item["mail"] == mail


def test_sent_again_waits_again(as_ada, ada):
    invitation = Invitation.objects.invite(ada, "new@example.com")
    Worker().work_round()

    assert as_ada.post(f"/invitations/{invitation.pk}/resend").json()["mail"] == "waiting"


def test_filters_search_and_order(as_ada, ada):
    for number, (email, role) in enumerate([("b@x.de", "admin"), ("a@y.de", "member")]):
        made = Invitation.objects.invite(ada, email, role)
        then = timezone.now() + datetime.timedelta(seconds=number)
        Invitation.objects.filter(pk=made.pk).update(created_at=then)

    assert listed(as_ada, "") == ["a@y.de", "b@x.de"]
    assert (
        listed(as_ada, "sort=created_at") == listed(as_ada, "sort=-email") == ["b@x.de", "a@y.de"]
    )
    assert listed(as_ada, "role=admin&status=pending") == ["b@x.de"]
    assert listed(as_ada, "search=Y.DE") == ["a@y.de"]
    assert listed(as_ada, "search=y.de" + "%20" * 96 + "x" * 1_000) == ["a@y.de"]
    assert as_ada.get("/invitations?sort=role").status_code == 400
