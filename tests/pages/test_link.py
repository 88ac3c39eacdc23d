"""POST /pages/link: what a mailed link is for, told without using it up."""

import pytest

from tests.mailbox import mailed_token
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db
DEAD = {"error": "invalid or expired token"}


def ask(api, token, page="accept-invitation"):
    return api.post("/pages/link", {"token": token, "page": page})


def test_invitation_names_the_address_and_the_company(api, invitation):
    response = ask(api, mailed_token())

    assert response.status_code == 200
    told = {"email": "charles@example.com", "company": "Analytical Engines", "account": None}
    assert response.json() == told
    assert response["Cache-Control"] == "no-store"


def test_link_still_works_afterwards(api, invitation):
    token = mailed_token()
    for _ in range(3):
        ask(api, token)

    person = {"first_name": "Charles", "last_name": "Babbage", "password": "a difference engine"}
    assert api.post("/invitations/accept", person | {"token": token}).status_code == 200
    assert (ask(api, token).status_code, ask(api, token).json()) == (400, DEAD)


@pytest.mark.parametrize(
    ("call", "page"),
    [("/auth/signup", "complete-signup"), ("/password-changes", "change-password")],
)
def test_other_links_tell_their_address_only(api, ada, call, page):
    email = "ada@example.com" if page == "change-password" else "new@example.com"
    api.post(call, {"email": email})

    assert ask(api, mailed_token(), page).json() == {
        "email": email,
        "company": None,
        "account": None,
    }


def test_token_of_another_page_is_dead(api, invitation):
    response = ask(api, mailed_token(), "change-password")

    assert (response.status_code, response.json()) == (400, DEAD)


def test_forged_token_is_dead(api, invitation):
    forged = invitation.token[:-4] + "AAAA"

    assert (ask(api, forged).status_code, ask(api, forged).json()) == (400, DEAD)


def test_lock_of_the_address_makes_no_difference(api, invitation):
    token = mailed_token()
    fail(5, "charles@example.com")

    assert ask(api, token).status_code == 200


def test_look_up_counts_as_a_public_call(api, invitation, settings):
    """A team that opens its links from one address has its credential calls left for accepting."""
    settings.RATE_LIMIT_CREDENTIAL, settings.RATE_LIMIT_PUBLIC = 1, 2
    token = mailed_token()
    answers = [ask(api, token) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].json()["error"] == "rate_limited"
    person = {"first_name": "Charles", "last_name": "Babbage", "password": "a difference engine"}
    assert api.post("/invitations/accept", person | {"token": token}).status_code == 200
