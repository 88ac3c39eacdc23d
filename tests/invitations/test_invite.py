"""POST /invitations: an admin invites a person."""

import datetime
from functools import partial

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Consultant
from invitations.models import Invitation
from mail.outbox import MailState, OutgoingMail
from tests.clients import bearer
from tests.mailbox import mailed
from tests.races import race
from tests.sso.conftest import prove

pytestmark = pytest.mark.django_db
START = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)


def test_inviting_answers_with_the_invitation(ada, time_machine):
    time_machine.move_to(START, tick=False)

    body = {"email": "Charles@Example.com", "role": "admin"}
    response = bearer(ada).post("/invitations", body)

    assert response.status_code == 201
    assert response.json() == {
        "id": str(Invitation.objects.get().pk),
        "email": "charles@example.com",
        "role": "admin",
        "consultant_id": None,
        "status": "pending",
        "invited_by": str(ada.pk),
        "mail": "waiting",
        "created_at": "2030-01-01T12:00:00Z",
        "expires_at": "2030-01-08T12:00:00Z",
    }


def test_invitation_link_is_mailed_and_shown_nowhere_else(as_ada):
    response = as_ada.post("/invitations", {"email": "charles@example.com"})

    invitation_mail = mailed()
    token = Invitation.objects.get().token  # the worker replaces one that ends with a sign
    assert invitation_mail.to == ["charles@example.com"]
    assert f"/accept-invitation#token={token}" in invitation_mail.body
    assert token not in response.content.decode()


def test_consultant_must_be_free_and_of_the_company(as_ada, ada, bob, eve):
    taken = Consultant.objects.create(account=ada.account, user=bob)
    foreign = Consultant.objects.create(account=eve.account)
    unknown = "00000000-0000-4000-8000-000000000000"
    for consultant_id in (taken.pk, foreign.pk, unknown):
        body = {"email": "c@example.com", "consultant_id": str(consultant_id)}
        response = as_ada.post("/invitations", body)
        fields = {"consultant_id": ["No consultant without a user has this id."]}
        assert response.status_code == 400
        codes = {"consultant_id": ["invalid"]}
        assert response.json() == {"error": "invalid request", "fields": fields, "codes": codes}
    assert not Invitation.objects.exists()

    free = str(Consultant.objects.create(account=ada.account).pk)
    invited = as_ada.post("/invitations", {"email": "c@example.com", "consultant_id": free})
    assert invited.json()["consultant_id"] == free


@pytest.mark.parametrize(
    ("field", "value"),
    [("email", None), ("email", "nobody"), ("email", 1), ("role", "boss"), ("role", None),
     ("role", True), ("consultant_id", "x"), ("consultant_id", 7), ("consultant_id", [])],
)  # fmt: skip
def test_wrong_values_of_an_invitation_name_their_field(as_ada, field, value):
    response = as_ada.post("/invitations", {"email": "c@example.com", field: value})

    assert response.status_code == 400
    assert list(response.json()["fields"]) == [field]


@pytest.mark.parametrize(
    ("email", "error"),
    [("BOB@example.com", "already a member"), ("Charles@example.com", "already invited")],
)
def test_address_is_invited_once(as_ada, bob, invitation, email, error):
    response = as_ada.post("/invitations", {"email": email})

    assert (response.status_code, response.json()) == (409, {"error": error})


def test_address_is_invited_anew_after_expiry_and_after_revocation(as_ada, invitation):
    Invitation.objects.update(expires_at=START.replace(year=2020))
    second = as_ada.post("/invitations", {"email": invitation.email})
    as_ada.delete(f"/invitations/{second.json()['id']}")

    third = as_ada.post("/invitations", {"email": invitation.email})

    assert (second.status_code, third.status_code) == (201, 201)


def test_inviting_does_not_reveal_users_of_another_company(as_ada, eve):
    registered = as_ada.post("/invitations", {"email": eve.email})
    unknown = as_ada.post("/invitations", {"email": "nobody@example.org"})

    assert (registered.status_code, unknown.status_code) == (201, 201)
    own = {"id", "email", "created_at", "expires_at"}
    assert {k: v for k, v in registered.json().items() if k not in own} == {
        k: v for k, v in unknown.json().items() if k not in own
    }
    assert OutgoingMail.objects.filter(state=MailState.READY).count() == 2


def test_company_that_has_proved_the_domain_is_told_at_once(as_ada, ada, eve, new_user):
    prove(ada.account, "example.com")
    user = new_user("karin@example.com", account=eve.account)
    error = {"error": "can't be accepted with this address"}

    refused = as_ada.post("/invitations", {"email": user.email})
    several = {"invitations": [{"email": user.email}, {"email": "new@example.com"}]}
    items = as_ada.post("/invitations", several).json()["items"]

    assert (refused.status_code, refused.json()) == (409, error)
    assert (items[0], items[1]["status"]) == ({"email": user.email} | error, "pending")
    assert [mail.email for mail in OutgoingMail.objects.all()] == ["new@example.com"]


def test_command_is_told_so_too_however_the_address_is_typed(ada, eve, new_user):
    prove(ada.account, "example.com")
    new_user("karin@example.com", account=eve.account)

    with pytest.raises(CommandError, match="can't be accepted with this address"):
        call_command("invite", ada.account.name, "Karin@Example.COM")


def test_company_is_told_when_it_sends_an_invitation_again(as_ada, ada, eve, invitation, new_user):
    new_user(invitation.email, account=eve.account)
    Invitation.objects.update(expires_at=START.replace(year=2020))
    resend = f"/invitations/{invitation.pk}/resend"
    assert as_ada.post(resend).status_code == 200
    prove(ada.account, "example.com")

    assert as_ada.post(resend).json() == {"error": "can't be accepted with this address"}


@pytest.mark.parametrize("proved_by", ["nobody", "the other company"])
def test_inviting_a_user_of_another_company_takes_the_same_queries(
    as_ada, eve, new_user, costs, proved_by
):
    if proved_by != "nobody":
        prove(eve.account, "example.org")
    emails = [new_user("karin@example.org", account=eve.account).email, "nobody@example.org"]

    taken, free = (costs(lambda e=e: as_ada.post("/invitations", {"email": e})) for e in emails)

    assert taken == free
    assert taken[0] == 201


@pytest.mark.django_db(transaction=True)
def test_ten_requests_at_once_invite_an_address_once(as_ada):
    invite = partial(as_ada.post, "/invitations", {"email": "c@example.com"})

    answers = race(*[invite] * 10)

    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 9
    assert OutgoingMail.objects.count() == Invitation.objects.count() == 1
