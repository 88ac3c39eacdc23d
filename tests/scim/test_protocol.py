"""SCIM over HTTP: paths, statuses, errors, filters, pages, limits, and what is thrown at them."""

import json
import time

import pytest
from django.db import OperationalError

from accounts.models import User
from api.views import Scope
from apikeys.models import ApiKey, ApiKeyQuerySet
from audit.actors import COMMAND
from scim.models import ScimUser
from tests.clients import API, bearer
from tests.scim.conftest import CORE, PATCH_OP, Directory, operation, problem

pytestmark = pytest.mark.django_db
SEARCH = "urn:ietf:params:scim:api:messages:2.0:SearchRequest"
WRITES = ["post", "put", "patch", "delete"]


@pytest.fixture
def people(ada, bob, new_user):
    """Ada, Bob and Cyd, an inactive member without a first name, whom a directory has written."""
    facts = {"account": ada.account, "first_name": "", "last_name": "Öberg", "is_active": False}
    cyd = new_user("cyd@example.com", **facts)
    ScimUser.objects.create(user=cyd, account=ada.account, external_id="C_1%")
    return {"ada": ada, "bob": bob, "cyd": cyd}


PATHS = {
    200: "get ServiceProviderConfig, get Schemas, get ResourceTypes, get ResourceTypes/User, "
    f"get Schemas/{CORE}, get Users/, head Users",
    403: "get Schemas?filter=id+pr",
    404: "get Groups, post Groups, get Users/x/y",
    405: "put Users, delete Users, post Schemas, get Bulk",
    501: "get Me, patch Me, post Bulk, get Users?sortBy=userName, get Users?cursor",
}
CALLS = [(call, status) for status, calls in PATHS.items() for call in calls.split(", ")]


@pytest.mark.parametrize(("call", "status"), CALLS)
def test_each_path_has_its_status_as_scim_json(directory, call, status):
    method, path = call.split(" ")
    body = {} if method in WRITES else None

    answer = directory.call(method, path, body)

    assert (answer.status_code, answer["Content-Type"]) == (status, "application/scim+json")
    assert ("Allow" in answer) == (status == 405)
    if status > 400:
        assert problem(answer)[0] == status
    assert "x-ratelimit-remaining" in answer


def test_service_describes_what_it_does(directory):
    config = directory.get("ServiceProviderConfig").json()
    [schema] = directory.get("Schemas").json()["Resources"]

    supported = {name for name in config if config[name] and "supported" in config[name]}
    assert {name for name in supported if config[name]["supported"]} == {"patch", "filter"}
    assert [scheme["type"] for scheme in config["authenticationSchemes"]] == ["oauthbearertoken"]
    assert {attribute["name"]: attribute["mutability"] for attribute in schema["attributes"]} == {
        "userName": "readWrite", "name": "readWrite", "displayName": "readWrite",
        "active": "readWrite", "emails": "readOnly",
    }  # fmt: skip


@pytest.mark.parametrize("path", ["ServiceProviderConfig", "Users", "Groups", "Me"])
def test_every_path_needs_a_key_with_the_scope(directory, ada, path):
    without_scope = ApiKey.objects.make(ada, "Payroll", set(Scope) - {"scim"})[1]
    operators = COMMAND, User.objects.create_superuser("op@example.com")
    of_operators = [ApiKey.objects.make(operator, "SIEM", ["scim"])[1] for operator in operators]
    keys = [(API(), 401), (bearer(ada), 401), (Directory("cm_nothing"), 401)]
    keys += [(Directory(key), 403) for key in (without_scope, *of_operators)]

    for client, status in keys:
        answer = API.get(client, f"/scim/v2/{path}") if type(client) is API else client.get(path)
        assert problem(answer)[0] == status
        assert answer.get("WWW-Authenticate") == ("Bearer" if status == 401 else None)
    assert problem(Directory(of_operators[1]).create())[0] == 403


def test_unavailable_database_answers_as_scim(directory, monkeypatch):
    def fail(*_):
        raise OperationalError("gone")

    monkeypatch.setattr(ApiKeyQuerySet, "find_by_key", fail)

    assert problem(directory.get("Users"))[0] == 503


def test_requests_are_counted_by_key_and_unknown_keys_by_address(
    directory, new_key, settings, api, ada
):
    assert settings.RATE_LIMIT_SCIM >= 1500  # a minute of Entra ID
    settings.RATE_LIMIT_SCIM, settings.RATE_LIMIT_PUBLIC = 2, 1
    other = Directory(new_key()[1])

    statuses = [directory.get("Users").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    answer = directory.create()
    assert (problem(answer)[0], int(answer["Retry-After"]) > 0) == (429, True)
    assert other.get("Users").status_code == 200
    assert [Directory("cm_x").get("Users").status_code for _ in range(2)] == [401, 429]
    assert api.post("/auth/login", {"email": ada.email, "password": "wrong"}).status_code == 401


def test_admins_read_the_keys_last_problem_until_a_success(directory, as_ada, bob):
    def last_problem():
        ApiKey.objects.update(last_problem_at=None, problem_cleared_at=None)
        return as_ada.get("/account/api-keys").json()["items"][0]["last_problem"]

    directory.create("new@elsewhere.net")
    assert "in a domain that your company has proved" in last_problem()
    directory.get("Users", data={"filter": f'userName foo "{bob.email}"'})
    assert last_problem() == "400 invalidFilter"  # a text of the library's might name a person
    directory.get("Users")
    assert last_problem() == ""


BODIES = {
    (400, "invalidSyntax"): [
        b"", b"{", b'{"userName": "\\ud800@example.com"}', b'{"x": ' + b"[" * 9000,
    ],
    (400, "invalidValue"): [b"{}", b'{"userName": NaN}', b'{"userName": 5}'],
    (413, None): [b" " * 65_537],
}  # fmt: skip
NEW = b'{"userName": "new@example.com", '
BODIES[400, "invalidValue"] += [NEW + b'"externalId": "\\u0000"}', NEW + b'"active": "perhaps"}']


@pytest.mark.parametrize(
    ("body", "refusal"), [(body, refusal) for refusal in BODIES for body in BODIES[refusal]]
)
def test_wrong_body_is_refused(directory, body, refusal):
    assert problem(directory.post("Users", body))[:2] == refusal
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "members",
    [
        {"schemas": ["urn:scim:schemas:core:2.0", "urn:scim:schemas:extension:enterprise:2.0"]},
        {"schemas": None},
        {"emails": [{"value": "a@b.c", "primary": True}, {"value": "d@e.f", "primary": True}]},
        {"Emails": "new@example.com"},
        {"meta": {"created": "yesterday"}, "id": 7},
    ],
)
def test_what_is_not_stored_may_be_anything(directory, bob, members):
    """As OneLogin and others have it."""
    assert directory.create(**members).status_code == 201
    answer = directory.put(bob, userName=bob.email, active=False, **members)
    assert (answer.status_code, answer.json()["active"]) == (200, False)
    assert directory.patch(
        f"Users/{bob.pk}", {"Operations": [operation(True, "active")]} | members
    ).json()["active"]


def test_other_media_types_are_refused(directory):
    assert problem(directory.post("Users", b"{}", content_type="text/plain"))[0] == 415
    assert directory.post("Users", b"{}", content_type="application/json").status_code == 400


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (operation("x", "id"), (400, "mutability")),
        (operation("x", "meta.created"), (400, "mutability")),
        (operation("x", "name["), (400, "invalidPath")),
        (operation("x", "active"), (400, "invalidValue")),
        (operation({"a": 1}, "name.givenName"), (400, "invalidValue")),
        (operation("x", "name", op="destroy"), (400, "invalidValue")),
        (operation(op="remove", path="userName"), (400, "mutability")),
    ],
)
def test_wrong_operation_is_refused(directory, bob, change, refusal):
    assert problem(directory.change(bob, change))[:2] == refusal


def test_too_many_operations_are_refused_before_they_are_checked(directory, bob):
    one = operation("Rob", "name.givenName")

    refused = directory.change(bob, *[one] * 50, {"op": "nonsense"})
    assert problem(refused) == (400, "invalidValue", "more than 50 operations")
    body = {"Operations": [one], "operations": [one] * 51}
    assert problem(directory.patch(f"Users/{bob.pk}", body))[2] == "more than 50 operations"
    assert directory.change(bob, *[one] * 50).status_code == 200
    in_lower_case = {"schemas": [PATCH_OP], "operations": [one] * 51}
    refused = directory.patch(f"Users/{bob.pk}", in_lower_case)
    assert problem(refused) == (400, "invalidValue", "more than 50 operations")


def test_long_path_is_refused_however_its_name_is_written(directory, bob):
    path = "name." * 1000
    for name in ("path", "Path"):
        refused = directory.change(bob, {"op": "replace", "value": "x", name: path})
        assert problem(refused)[:2] == (400, "invalidPath")


FILTERS = [
    ('userName eq "BOB@example.com"', {"bob"}),
    ('userName ne "bob@example.com"', {"ada", "cyd"}),
    ('userName co "@EXAMPLE"', {"ada", "bob", "cyd"}),
    ('userName sw "b" or userName ew "nowhere"', {"bob"}),
    ('userName gt "b" and userName lt "c"', {"bob"}),
    ('emails eq "cyd@example.com"', {"cyd"}),
    ('emails[type eq "work" and value sw "ada"]', {"ada"}),
    ('emails.type eq "home"', set()),
    ("emails[primary eq true]", {"ada", "bob", "cyd"}),
    ('name.familyName eq "öberg"', {"cyd"}),
    ('name.familyName ge "boole" and name.familyName le "lovelace"', {"ada", "bob"}),
    ('displayName eq "ada lovelace" or name.formatted co "B BOOLE"', {"ada", "bob"}),
    ("name.givenName pr", {"ada", "bob"}),
    ("not (name.givenName pr)", {"cyd"}),
    ("active eq true", {"ada", "bob"}),
    ("active ne true", {"cyd"}),
    ('externalId eq "C_1%"', {"cyd"}),
    ('externalId eq "c_1%"', set()),
    ('externalId ne "C_1%"', {"ada", "bob"}),
    ('externalId co "_"', {"cyd"}),
    ('externalId co "%1"', set()),
    ("externalId pr", {"cyd"}),
    ("externalId eq null", {"ada", "bob"}),
    ("externalId ne null", {"cyd"}),
    ('meta.created gt "2020-01-01T00:00:00Z"', {"ada", "bob", "cyd"}),
    ('meta.lastModified lt "2020-01-01T00:00:00"', set()),
    ('meta.created gt "2020-01-01T00:00:00-23:00"', {"ada", "bob", "cyd"}),
    ('id eq "x"', set()),
    (f'{CORE}:userName eq "bob@example.com"', {"bob"}),
    ("userName eq Bob@example.com", {"bob"}),  # as authentik sends it
    (" externalId eq C_1% ", {"cyd"}),
    ("active eq False", {"cyd"}),
    ('not (userName sw "a") and not (active eq false)', {"bob"}),
]


@pytest.mark.parametrize(("text", "names"), FILTERS)
def test_filter_finds_what_rfc_7644_says(directory, people, text, names):
    assert directory.emails(text) == names


def test_filter_by_id_is_exact(directory, bob):
    assert directory.emails(f'id eq "{bob.pk}"') == directory.emails(f'id sw "{bob.pk}"') == {"bob"}
    assert directory.emails(f'id eq "{str(bob.pk).upper()}"') == set()
    assert directory.emails(f'id ne "{bob.pk}"') == {"ada"}


@pytest.mark.parametrize(
    "text",
    [
        "userName",
        'userName zz "x"',
        'password eq "x"',
        'title eq "x"',
        'schemas eq "x"',
        'meta.location eq "x"',
        "userName eq 5",
        "active gt true",
        'active co "t"',
        'meta.created co "2"',
        'meta eq "2"',
        "meta eq true",
        'active sw "t"',
        'meta.created gt "yesterday"',
        'meta.created lt "9999-12-31T23:59:59-01:00"',
        'userName eq "\\u0000"',
        'userName eq "\\ud800"',
        "name[givenName pr]",
        f'userName eq "{"x" * 2000}"',
        " or ".join(["active pr"] * 21),
        "not (" * 100 + "active pr" + ")" * 100,
        'userName eq "\' OR 1=1 --" or',
    ],
)
def test_wrong_filter_is_refused(directory, text):
    for answer in (
        directory.get("Users", data={"filter": text}),
        directory.post("Users/.search", {"schemas": [SEARCH], "filter": text}),
    ):
        assert problem(answer)[:2] == (400, "invalidFilter")


def test_values_of_a_filter_are_no_sql(directory, people):
    assert directory.emails('userName eq "\' OR 1=1 --"') == set()
    assert directory.emails('displayName co "_"') == directory.emails('displayName co "%"') == set()


def test_pages_have_a_hundred_users_by_id_and_two_hundred_at_most(directory, ada, new_user):
    made = [User(email=f"u{n}@example.com", account=ada.account, password="!") for n in range(249)]
    User.objects.bulk_create(made)
    ids = sorted(str(pk) for pk in User.objects.values_list("pk", flat=True))

    def page(**query):
        body = directory.get("Users", data=query).json()
        assert (body["totalResults"], body["itemsPerPage"]) == (250, len(body["Resources"]))
        return [user["id"] for user in body["Resources"]]

    assert page() == ids[:100]
    assert page(count=1000) == ids[:200]
    assert page(startIndex=201, count=200) == ids[200:]
    assert page(startIndex=250) == ids[249:]
    assert page(count=0) == page(count=-5) == page(startIndex=251) == []
    assert page(startIndex=-3, count=1) == ids[:1]


def test_page_past_the_end_takes_no_query_for_users(directory, django_assert_num_queries):
    directory.get("Users")
    with django_assert_num_queries(3):  # the key, its company, the number of users
        body = directory.get("Users", data={"startIndex": 10**25, "count": 10**25}).json()

    assert (body["totalResults"], body["Resources"]) == (1, [])
    assert problem(directory.get("Users", data={"count": "9" * 5000}))[:2] == (400, "invalidValue")


def test_attributes_can_be_chosen(directory, bob):
    query = {"attributes": "userName,name.givenName", "filter": 'userName sw "bob"'}
    [user] = directory.get("Users", data=query).json()["Resources"]
    assert user == {
        "schemas": [CORE], "id": str(bob.pk), "userName": bob.email, "name": {"givenName": "Bob"}
    }  # fmt: skip
    body = directory.get(f"Users/{bob.pk}", data={"excludedAttributes": "name,emails,meta"}).json()
    assert set(body) == {"schemas", "id", "userName", "displayName", "active"}


MANY = {f"k{number}": 1 for number in range(4500)}
LONG_PATH = "a[" + " or ".join(f'b{number} eq "x"' for number in range(3500)) + "].c"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "Users", {"userName": "a@example.com", "emails": [{"value": "a"}] * 3000}),
        ("post", "Users", {"userName": "a@example.com"} | MANY),
        ("patch", "Users/{}", {"Operations": [operation(MANY)]}),
        ("patch", "Users/{}", {"Operations": [operation({"a.b": 1}, "x")] * 1000}),
        ("patch", "Users/{}", {"Operations": [operation("x", LONG_PATH)]}),
        ("patch", "Users/{}", {"operations": [{"op": "add", "Path": LONG_PATH, "value": "x"}]}),
        ("patch", "Users/{}", {"OPERATIONS": [operation({"a.b": 1}, "x")] * 1000}),
        ("post", "Users/.search", {"attributes": [*MANY]}),
        ("post", "Users/.search", {"filter": "(" * 60_000}),
        ("get", "Users?attributes=" + ",".join(list(MANY)[:1200]), None),
    ],
)
def test_no_request_takes_a_long_time(directory, bob, method, path, body):
    directory.get("Users")  # loads the library
    content = body and json.dumps(body).encode()[:65_536]
    begun = time.thread_time()

    directory.call(method, path.format(bob.pk), content)

    assert time.thread_time() - begun < 2


def test_calls_take_few_statements(costs, directory, bob):
    """Of which two in this test begin and end what is a transaction in production."""
    query = {"filter": 'userName eq "bob@example.com"'}
    directory.get("Users")

    assert costs(directory.create) == (201, 13, 1)
    assert costs(lambda: directory.get(f"Users/{bob.pk}")) == (200, 3, 1)
    assert costs(lambda: directory.get("Users", data=query)) == (200, 3, 1)
    assert costs(lambda: directory.change(bob, operation("R", "name.givenName"))) == (200, 12, 1)
