"""Nothing of another company is read, changed, guessed, or told from what does not exist."""

import uuid

import pytest
from django.core import serializers
from django.urls import URLPattern, get_resolver

from accounts.models import Account, Connection, Consultant, Domain, User
from invitations.models import Invitation
from passwords.models import PasswordChange
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db
METHODS = ["get", "post", "put", "patch", "delete"]
NOT_FOUND = {"error": "not found"}


def routes(resolver, before=""):
    """Every path of the API as it is written in the URL map, its parameters included."""
    for entry in resolver.url_patterns:
        path = before + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield path
        elif not path.startswith("admin"):
            yield from routes(entry, path)


# Browsers are sent to auth/sso: whose connection an id is, is public.
WITH_ID = [
    path for path in routes(get_resolver()) if "<uuid:" in path and not path.startswith("auth/sso/")
]


@pytest.fixture
def theirs(ada, bob):
    """All that Ada's company has, by kind."""
    return [
        ada,
        bob,
        ada.account,
        Invitation.objects.invite(ada, "c@example.com"),
        Consultant.objects.create(account=ada.account, name="Charles", manager=bob),
        PasswordChange.objects.create(user=bob, email=bob.email),
        Domain.objects.create(account=ada.account, name="example.com"),
        Connection.objects.create(account=ada.account, issuer="https://idp.example"),
    ]


def everything():
    models = (Account, Connection, Domain, User, Consultant, Invitation, PasswordChange)
    rows = [row for model in models for row in model.objects.order_by("pk")]
    return serializers.serialize("json", rows)


def test_walk_finds_the_routes():
    names = [path.replace("user_id", "id").replace("invitation_id", "id") for path in WITH_ID]

    assert {"users/<uuid:id>", "invitations/<uuid:id>", "invitations/<uuid:id>/resend"} <= set(
        names
    )


def call(client, method, path):
    """With a body that any of the calls takes."""
    bodiless = method in {"get", "head", "delete"}
    return client.call(method, path, *([] if bodiless else [{"password": PASSWORD, "name": "x"}]))


@pytest.mark.parametrize("path", WITH_ID)
def test_ids_of_another_company_lead_nowhere(as_eve, theirs, path):
    before = everything()
    head, _, tail = path.partition("<")
    for pk in [row.pk for row in theirs] + [uuid.uuid4()]:
        url = f"/{head}{pk}{tail.partition('>')[2]}"
        answers = [call(as_eve, method, url) for method in METHODS]

        assert {answer.status_code for answer in answers} <= {404, 405}
        bodies = [answer.json() for answer in answers if answer.status_code == 404]
        assert bodies
        assert all(body == NOT_FOUND for body in bodies)
    assert everything() == before


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

    made = as_eve.post("/invitations", body).json()

    assert made["invited_by"] == str(eve.pk)
    assert Invitation.objects.get(pk=made["id"]).account_id == eve.account_id
