"""POST /invitations/accept: the invited person becomes a user."""

from functools import partial

import pytest

from accounts.models import Consultant, Role, User
from invitations.models import Invitation
from tests.cast import PASSWORD
from tests.invitations.conftest import PERSON, accept, resend, revoke
from tests.mailbox import mailed_token
from tests.races import race
from tests.signin.helpers import assert_signed_in
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db
DEAD = {"error": "invalid or expired token"}


def test_accepting_an_invitation_signs_in_and_sets_the_cookie(api, ada, invitation):
    response = accept(api, invitation)

    assert_signed_in(api, response)
    user = response.json()["user"]
    assert (user["account_id"], user["email"]) == (str(ada.account_id), "charles@example.com")
    assert (user["first_name"], user["last_name"], user["role"]) == ("Charles", "Babbage", "member")


def test_mailed_token_and_chosen_password_of_an_invitation_work(api, invitation):
    api.post("/invitations/accept", PERSON | {"token": mailed_token()})

    login = api.post("/auth/login", {"email": invitation.email, "password": PASSWORD})

    assert login.status_code == 200
    assert Invitation.objects.get().status == "accepted"


def test_role_language_and_profile_come_from_the_invitation(api, ada):
    ada.language = "sv"
    profile = Consultant.objects.create(account=ada.account)
    invitation = Invitation.objects.invite(ada, "c@example.com", Role.ADMIN, profile.pk)

    user = accept(api, invitation).json()["user"]

    assert (user["role"], user["settings"]["language"]) == ("admin", "sv")
    assert user["consultant_id"] == str(profile.pk)


@pytest.mark.parametrize(
    ("of_page", "accepted", "cookie", "language"),
    [("", "fr", "", "sv"), ("", "*", "", "sv"), ("", "fr,en;q=0.5", "", "en"),
     ("", "de-AT,de;q=0.9", "", "de"), ("", "fr", "de", "de"), ("en", "de", "", "en")],
)  # fmt: skip
def test_new_users_language_is_that_of_the_page_else_of_the_invitation(
    api, ada, of_page, accepted, cookie, language
):
    invitation = Invitation.objects.invite(ada, "c@example.com", language="sv")
    headers = {"accept-language": accepted, "cookie": f"django_language={cookie}"}
    answer = accept(api, invitation, headers, **({"language": of_page} if of_page else {}))

    assert answer.json()["user"]["settings"]["language"] == language
    assert User.objects.get(email=invitation.email).language == language


def test_profile_that_has_got_a_user_meanwhile_stays_theirs(api, ada, bob):
    profile = Consultant.objects.create(account=ada.account)
    invitation = Invitation.objects.invite(ada, "c@example.com", consultant_id=profile.pk)
    Consultant.objects.update(user=bob)

    response = accept(api, invitation)

    assert (response.status_code, response.json()["user"]["consultant_id"]) == (200, None)
    assert Consultant.objects.get().user == bob


def test_invitation_of_the_operators_needs_no_inviter(api, invitation):
    Invitation.objects.update(invited_by=None)

    assert accept(api, invitation).status_code == 200


@pytest.mark.parametrize("fact", ["used_at", "revoked_at", "expires_at"])
def test_dead_invitation_link_is_refused(api, invitation, fact):
    Invitation.objects.update(**{fact: invitation.created_at})

    response = accept(api, invitation)

    assert (response.status_code, response.json()) == (400, DEAD)
    assert "service_refresh" not in response.cookies


@pytest.mark.parametrize("field", ["token", "first_name", "last_name", "password"])
@pytest.mark.parametrize("value", [None, 1, "", "a\x00b"])
def test_wrong_values_of_an_acceptance_name_their_field(api, invitation, field, value):
    response = accept(api, invitation, **{field: value})

    assert response.status_code == 400
    assert list(response.json()["fields"]) == [field]
    assert Invitation.objects.get().status == "pending"


def test_acceptance_by_a_user_of_another_company_is_409(api, eve, ada):
    invitation = Invitation.objects.invite(ada, eve.email)

    response = accept(api, invitation)

    assert response.status_code == 409
    assert response.json() == {"error": "e-mail already registered"}
    assert User.objects.get(pk=eve.pk).account_id == eve.account_id
    assert Invitation.objects.get().status == "pending"


def test_locked_address_is_answered_before_the_conflict(api, ada, eve):
    invitation = Invitation.objects.invite(ada, eve.email)
    fail(5, eve.email)

    assert accept(api, invitation).status_code == 429


@pytest.mark.django_db(transaction=True)
def test_ten_acceptances_at_once_create_one_user(api, invitation):
    answers = race(*[partial(accept, api, invitation)] * 10)

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 9
    assert User.objects.filter(email=invitation.email).count() == 1


@pytest.mark.django_db(transaction=True)
def test_acceptances_of_two_companies_at_once_create_one_user(api, ada, eve):
    calls = [partial(accept, api, Invitation.objects.invite(who, "c@x.org")) for who in (ada, eve)]

    assert sorted(answer.status_code for answer in race(*calls)) == [200, 409]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("end", "ended"), [(resend, 200), (revoke, 204)])
def test_acceptance_races_with_revocation_or_resending(as_ada, invitation, api, end, ended):
    body = PERSON | {"token": invitation.token}
    accepting = partial(api.post, "/invitations/accept", body)

    answers = race(accepting, partial(end, as_ada, invitation))

    assert tuple(answer.status_code for answer in answers) in {(200, 409), (400, ended)}
