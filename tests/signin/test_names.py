"""Names of people and companies hold no links, wherever they come in."""

import pytest

from accounts.models import Account
from invitations.models import Invitation
from tests.signin.conftest import PERSON

pytestmark = pytest.mark.django_db

LINKS = ["Win at https://evil.test", "WWW.evil.test", "ftp://x", "\uff57\uff57\uff57.evil.test"]
REFUSED = ["Names can't contain links."]


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("field", ["account_name", "first_name", "last_name"])
def test_sign_up_refuses_links_in_names(api, signup_link, field, name):
    answer = api.post("/auth/complete-signup", PERSON | {"token": signup_link.token, field: name})

    assert answer.status_code == 400
    codes = {field: ["link"]}
    assert answer.json() == {"error": "invalid request", "fields": {field: REFUSED}, "codes": codes}


@pytest.mark.parametrize("field", ["first_name", "last_name"])
def test_profile_and_acceptance_refuse_links_in_names(api, as_ada, ada, field):
    token = Invitation.objects.invite(ada, "charles@example.com").token
    body = PERSON | {"token": token, field: "www.evil.test"}

    answers = [as_ada.patch("/auth/me", body), api.post("/invitations/accept", body)]

    assert [answer.status_code for answer in answers] == [400, 400]
    assert [answer.json()["fields"] for answer in answers] == [{field: REFUSED}] * 2


@pytest.mark.parametrize("model", ["account", "user", "consultant"])
def test_admin_site_refuses_links_in_names(operator, ada, model):
    path = f"/admin/accounts/{model}/" + (f"{ada.pk}/change/" if model == "user" else "add/")
    field = "first_name" if model == "user" else "name"
    answer = operator.post(path, {field: "See www.evil.test", "account": ada.account_id})

    assert answer.context["adminform"].form.errors[field] == REFUSED
    assert not Account.objects.filter(name__contains="www").exists()


def test_dots_and_colons_are_no_links(as_ada):
    assert as_ada.patch("/auth/me", {"first_name": "J. R. R.: x.y"}).status_code == 200
