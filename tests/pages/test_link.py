"""POST /pages/link: the details of a mailed link, which it does not use up."""

import pytest
from django.utils import timezone

from accounts.models import User
from sso.models import IdentityProvider
from tests.mailbox import mailed_token
from tests.sso.conftest import prove
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db
INVALID_LINK = {"error": "invalid or expired token"}


def show_link(api, token, page="accept-invitation"):
    return api.post("/pages/link", {"token": token, "page": page})


def test_invitation_names_the_address_and_the_company(api, invitation):
    response = show_link(api, mailed_token())

    assert response.status_code == 200
    details = {"email": "charles@example.com", "company": "Analytical Engines", "account": None}
    assert response.json() == details
    assert response["Cache-Control"] == "no-store"


def test_invitation_to_a_user_of_another_company_says_so_to_the_owner(api, ada, eve, invitation):
    token = mailed_token()
    User.objects.filter(pk=eve.pk).update(email=invitation.email)

    details = show_link(api, token).json()

    assert (details["hindrance"], details["inviter"]) == ("taken", "Ada Lovelace")


def test_invitation_to_somebody_who_must_use_the_provider_says_so(api, ada, invitation):
    prove(ada.account, "example.com")
    values = {"active": True, "required": True, "tested_at": timezone.now()}
    IdentityProvider.objects.create(account=ada.account, issuer="https://idp.example", **values)
    token = mailed_token()

    assert show_link(api, token).json()["hindrance"] == "provider"
    User.objects.filter(pk=ada.pk).delete()  # the inviter's name goes, too
    assert show_link(api, token).json()["inviter"] == "Analytical Engines"


def test_link_still_works_afterwards(api, invitation):
    token = mailed_token()
    for _ in range(3):
        show_link(api, token)

    person = {"first_name": "Charles", "last_name": "Babbage", "password": "a difference engine"}
    assert api.post("/invitations/accept", person | {"token": token}).status_code == 200
    assert (show_link(api, token).status_code, show_link(api, token).json()) == (400, INVALID_LINK)


@pytest.mark.parametrize(
    ("call", "page"),
    [("/auth/signup", "complete-signup"), ("/password-changes", "change-password")],
)
def test_other_links_have_an_address_only(api, ada, call, page):
    email = "ada@example.com" if page == "change-password" else "new@example.com"
    api.post(call, {"email": email})

    assert show_link(api, mailed_token(), page).json() == {
        "email": email,
        "company": None,
        "account": None,
    }


def test_token_of_another_page_is_invalid(api, invitation):
    response = show_link(api, mailed_token(), "change-password")

    assert (response.status_code, response.json()) == (400, INVALID_LINK)


def test_forged_token_is_invalid(api, invitation):
    forged = invitation.token[:-4] + "AAAA"

    assert (show_link(api, forged).status_code, show_link(api, forged).json()) == (
        400,
        INVALID_LINK,
    )


def test_locked_address_makes_no_difference(api, invitation):
    token = mailed_token()
    fail(5, "charles@example.com")

    assert show_link(api, token).status_code == 200


def test_showing_a_link_counts_in_the_public_tier(api, invitation, settings):
    """A team that opens its links at one address keeps its credential calls for accepting."""
    settings.RATE_LIMIT_CREDENTIAL, settings.RATE_LIMIT_PUBLIC = 1, 2
    token = mailed_token()
    answers = [show_link(api, token) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].json()["error"] == "rate_limited"
    person = {"first_name": "Charles", "last_name": "Babbage", "password": "a difference engine"}
    assert api.post("/invitations/accept", person | {"token": token}).status_code == 200
