"""Companies are isolated: no call reads, changes or reveals rows of another company."""

import re
import uuid

import pytest
from django.core import serializers

from accounts.models import Account, Consultant, User
from apikeys.models import ApiKey
from invitations.models import Invitation
from passwords.models import PasswordChange
from sso.models import Domain, IdentityProvider
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.routes import METHODS, OPERATIONS, ROUTES, url_of

pytestmark = pytest.mark.django_db
NOT_FOUND = {"error": "not found"}
# Paths with a parameter that names nothing of a company: pages, and the connection to which
# browsers are sent, whose id is public.
PUBLIC = {"/{name}", "/{name}{var}"}
# Provisioning takes API keys alone: see tests/scim.
PUBLIC |= {"/scim/v2/{path}"}
PUBLIC |= {"/auth/sso/{connection_id}/start", "/auth/sso/{connection_id}/callback"}
WITH_ID = [route.path for route in ROUTES if "{" in route.path and route.path not in PUBLIC]


@pytest.fixture
def theirs(ada, bob):
    """A row of each kind in Ada's company."""
    return [
        ada,
        bob,
        ada.account,
        Invitation.objects.invite(ada, "c@example.com"),
        ApiKey.objects.make(ada, "Payroll", ["users:read"])[0],
        Consultant.objects.create(account=ada.account, name="Charles", manager=bob),
        PasswordChange.objects.create(user=bob, email=bob.email),
        Domain.objects.create(account=ada.account, name="example.com"),
        IdentityProvider.objects.create(account=ada.account, issuer="https://idp.example"),
    ]


def everything():
    models = (Account, ApiKey, IdentityProvider, Domain, User, Consultant, Invitation)
    models = (*models, PasswordChange)
    rows = [row for model in models for row in model.objects.order_by("pk")]
    return serializers.serialize("json", rows)


def rows_of(company):
    models = (ApiKey, IdentityProvider, Domain, User, Consultant, Invitation)
    rows = [row for model in models for row in model.objects.filter(account=company).order_by("pk")]
    links = PasswordChange.objects.filter(user__account=company).order_by("pk")
    return serializers.serialize("json", [*Account.objects.filter(pk=company.pk), *rows, *links])


def call(client, method, path):
    """Make a call with a body that any of the calls takes."""
    bodiless = method in {"GET", "DELETE"}
    body = [] if bodiless else [{"password": PASSWORD, "name": "x"}]
    return client.call(method.lower(), path, *body)


@pytest.mark.parametrize("path", WITH_ID)
def test_ids_of_another_company_in_a_path_are_not_found(as_eve, theirs, path):
    before = everything()
    for pk in [row.pk for row in theirs] + [uuid.uuid4()]:
        url = re.sub("{.+?}", str(pk), path)
        answers = [call(as_eve, method, url) for method in METHODS]

        assert {answer.status_code for answer in answers} <= {404, 405}
        bodies = [answer.json() for answer in answers if answer.status_code == 404]
        assert bodies
        assert all(body == NOT_FOUND for body in bodies)
    assert everything() == before


IDS = ["id", "ids", "user_id", "user", "account_id", "account", "company_id", "company"]
IDS += ["key_id"]
IDS += ["invitation_id", "domain_id", "connection_id", "consultant_id", "invited_by", "manager"]


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_ids_of_another_company_in_a_body_change_nothing(eve, theirs, operation):
    method, path = operation.split()
    before = rows_of(theirs[2])
    for pk in {row.pk for row in theirs}:
        body = {"password": PASSWORD, "role": "member", "is_active": False}
        bodiless = [] if method == "GET" else [body | dict.fromkeys(IDS, str(pk))]
        bearer(eve).call(method.lower(), url_of(path) + f"?id={pk}&user_id={pk}", *bodiless)

    assert rows_of(theirs[2]) == before, f"{operation} changes rows of another company"


@pytest.mark.parametrize(
    "query",
    ["users", "users?role=admin", "users?role=member", "users?search=ada", "users?search=bob@",
     "users?search=example.com", "users?per_page=100", "users?account={account}", "invitations",
     "invitations?status=pending", "invitations?account={account}"],
)  # fmt: skip
def test_no_filter_finds_another_company(as_eve, eve, ada, theirs, query):
    response = as_eve.get("/" + query.format(account=ada.account_id))

    body = response.json()
    assert response.status_code == 200
    assert {item["email"] for item in body["items"]} <= {eve.email}
    assert body["total"] == len(body["items"])


@pytest.mark.parametrize("field", ["account", "account_id", "invited_by", "status", "id"])
def test_nothing_is_written_into_another_company(as_eve, eve, ada, theirs, field):
    values = {"account": ada.account_id, "account_id": ada.account_id, "invited_by": ada.pk}
    body = {"email": "x@example.org", field: str(values.get(field, theirs[3].pk))}

    invited = as_eve.post("/invitations", body).json()

    assert invited["invited_by"] == str(eve.pk)
    assert Invitation.objects.get(pk=invited["id"]).account_id == eve.account_id
