"""What a key is, and which calls take it with which scope."""

import hashlib
import zlib
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Account, User
from api.views import Scope
from apikeys.models import ApiKey, checksum_of, make_key
from invitations.models import Invitation
from tests.apikeys.conftest import client_of
from tests.clients import API, bearer
from tests.routes import METHODS, OPERATIONS, url_of
from tests.tables import compare

pytestmark = pytest.mark.django_db

UNAUTHORIZED = (401, {"error": "missing or invalid token"})
NOT_FOR_KEY = (403, {"error": "not permitted for this key"})
OPENED = {
    "GET /account": Scope.USERS_READ,
    "GET /users": Scope.USERS_READ,
    "GET /users/{user_id}": Scope.USERS_READ,
    "GET /invitations": Scope.INVITATIONS_WRITE,
    "POST /invitations": Scope.INVITATIONS_WRITE,
    "DELETE /invitations/{invitation_id}": Scope.INVITATIONS_WRITE,
    "POST /invitations/{invitation_id}/resend": Scope.INVITATIONS_WRITE,
    "GET /audit": Scope.AUDIT_READ,
    "GET /events": Scope.EVENTS_READ,
}
OPENED |= {f"{method} /scim/v2/{{path}}": Scope.SCIM for method in METHODS}
OF_ANY_KEY = {"GET /auth/check"}


def result(answer):
    return answer.status_code, answer.json() if answer.content else None


def is_for_key(answer):
    return answer.status_code != 401 and b"for this key" not in answer.getvalue()


def test_key_has_256_random_bits_and_a_checksum():
    key = make_key()

    assert (key[:3], len(key)) == ("cm_", 3 + 43 + 6)
    number = 0
    for digit in key[-6:]:
        digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        number = number * 62 + digits.index(digit)
    assert number == zlib.crc32(key[:-6].encode())
    assert make_key() != key


def test_key_is_stored_as_a_hash(new_key):
    row, key = new_key()

    row.refresh_from_db()
    assert (row.digest, row.last_four) == (hashlib.sha256(key.encode()).hexdigest(), key[-4:])
    assert key not in str(vars(row))


def test_only_these_calls_take_a_key(new_key, ada):
    """Each with its scope alone; all others don't even look the key up."""
    row, key = new_key()
    opened = {}
    for operation in sorted(OPERATIONS):
        method, path = operation.split()
        taken = set()
        for scope in Scope:
            ApiKey.objects.filter(pk=row.pk).update(scopes=[scope])
            answer = client_of(key).call(method.lower(), url_of(path))
            if is_for_key(answer):
                taken.add(scope)
        used = ApiKey.objects.filter(pk=row.pk).exclude(last_used_at=None)
        if used.update(last_used_at=None):
            opened[operation] = taken

    assert {name: {scope} for name, scope in OPENED.items()} == {
        name: scopes for name, scopes in opened.items() if name not in OF_ANY_KEY
    }
    advice = "name the call and its scope in OPENED of tests/apikeys/test_keys.py"
    compare(OPENED.keys() | OF_ANY_KEY, set(opened), advice)


@pytest.mark.parametrize("path", ["/auth/me", "/auth/factors", "/account/api-keys", "/mcp"])
def test_other_calls_answer_a_key_as_an_unknown_token(costs, new_key, path):
    _, key = new_key()
    method = "post" if path == "/mcp" else "get"

    status, queries, _ = costs(lambda: client_of(key).call(method, path))
    unknown = API(authorization="Bearer nothing").call(method, path)
    answer = client_of(key).call(method, path)

    assert (status, queries) == (unknown.status_code, 0) == (401, 0)
    assert answer.content == unknown.content
    assert answer.headers["WWW-Authenticate"] == unknown.headers["WWW-Authenticate"]


def test_head_is_get(by_key):
    assert by_key(Scope.USERS_READ).call("head", "/users").status_code == 200
    assert by_key(Scope.AUDIT_READ).call("head", "/users").status_code == 403


def test_malformed_or_mistyped_key_takes_no_query(costs, new_key):
    """Its digest is the whole of the lookup: a digest is no key."""
    row, key = new_key()
    mistyped = key[:10] + ("a" if key[10] != "a" else "b") + key[11:]
    malformed = [
        row.digest,
        str(row.pk),
        "cm_",
        "cm_" + "a" * 49,
        f"cm_{'a' * 43}{checksum_of('')}",
    ]

    for text in [mistyped, *malformed]:
        assert costs(lambda text=text: client_of(text).get("/users")) == (401, 0, 1)


def test_unknown_expired_and_revoked_keys_are_alike(costs, new_key):
    (expired, ended), (revoked, dead) = new_key(), new_key()
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())

    clients = [client_of(key) for key in (make_key(), ended, dead)]

    assert {result(api.get("/users"))[0] for api in clients} == {401}
    assert len({api.get("/users").content for api in clients}) == 1
    assert {costs(lambda api=api: api.get("/users"))[1] for api in clients} == {1}


def test_last_use_is_written_once_a_minute(costs, new_key):
    row, key = new_key(Scope.USERS_READ)
    first = costs(lambda: client_of(key).get("/account"))
    second = costs(lambda: client_of(key).get("/account"))
    assert first[1] - second[1] == 1

    for seconds in (-61, 86_400):  # of a host whose clock was ahead
        stored = timezone.now() + timedelta(seconds=seconds)
        ApiKey.objects.filter(pk=row.pk).update(last_used_at=stored)
        client_of(key).get("/account")

        row.refresh_from_db()
        assert abs(timezone.now() - row.last_used_at) < timedelta(seconds=60)

    for seconds in (-50, 61, 3_500):  # hosts whose clocks differ don't write by turns
        stored = timezone.now() + timedelta(seconds=seconds)
        ApiKey.objects.filter(pk=row.pk).update(last_used_at=stored)
        client_of(key).get("/account")

        row.refresh_from_db()
        assert row.last_used_at == stored


def test_key_reads_its_company_alone(by_key, ada, bob, eve):
    api = by_key(Scope.USERS_READ)

    assert {user["email"] for user in api.get("/users").json()["items"]} == {ada.email, bob.email}
    assert api.get(f"/users/{bob.pk}").status_code == 200
    assert api.get(f"/users/{eve.pk}").status_code == 404
    assert api.get("/account").json()["id"] == str(ada.account_id)


def test_operators_key_reads_all_companies(operators_key, ada, eve):
    emails = {user["email"] for user in operators_key.get("/users").json()["items"]}

    assert emails == {ada.email, eve.email}
    assert operators_key.get(f"/users/{eve.pk}").status_code == 200
    assert operators_key.get("/account").status_code == 404
    assert result(operators_key.get("/audit")) == NOT_FOR_KEY


def test_makers_end_changes_nothing(new_key, ada, new_user):
    row, key = new_key(Scope.USERS_READ)
    new_user(account=ada.account, role="admin")
    ada.update_role_or_active(ada, role="member", is_active=False)
    assert client_of(key).get("/users").status_code == 200

    User.objects.filter(pk=ada.pk).delete()

    assert client_of(key).get("/users").status_code == 200
    row.refresh_from_db()
    assert row.created_by is None


def test_keys_are_counted_by_themselves_and_unknown_ones_by_address(new_key, settings):
    settings.RATE_LIMIT_AUTHENTICATED = 2
    _, one = new_key(Scope.USERS_READ)
    _, other = new_key(Scope.USERS_READ)

    def statuses(key):
        return [client_of(key).get("/account").status_code for _ in range(3)]

    assert statuses(one) == statuses(other) == [200, 200, 429]
    assert statuses(make_key()) == [401, 401, 429]
    assert statuses(make_key()) == [429, 429, 429]


def test_refused_key_costs_its_lookup_alone(costs, new_key, settings):
    settings.RATE_LIMIT_AUTHENTICATED = 0
    _, key = new_key(Scope.USERS_READ)

    assert costs(lambda: client_of(key).get("/users"))[:2] == (429, 1)


def test_access_and_audit_logs_name_the_key(new_key, ada, caplog):
    row, key = new_key(Scope.INVITATIONS_WRITE)
    with caplog.at_level("INFO", "access"):
        client_of(key).post("/invitations", {"email": "c@example.com"})
    fields = caplog.records[-1].fields
    assert (fields["key"], fields.get("user")) == (str(row.pk), None)

    event = bearer(ada).get("/audit").json()["items"][0]

    assert (event["kind"], event["actor"]) == ("invitation.created", "API key Payroll")
    assert event["actor_name"] == "API key Payroll"
    assert event["address"] == "127.0.0.1"


def test_other_company_does_not_see_the_key_in_its_log(new_key, eve):
    """In the events of an address that both have invited."""
    _, key = new_key(Scope.INVITATIONS_WRITE)
    client_of(key).post("/invitations", {"email": "c@example.com"})
    carl = User.objects.create(email="c@example.com", account=eve.account)

    text = bearer(carl).get("/auth/me/data").getvalue().decode()

    assert "invitation.created" in text
    assert "Payroll" not in text


class TestInvitations:
    """With `invitations:write`."""

    @pytest.fixture
    def api(self, by_key):
        return by_key(Scope.INVITATIONS_WRITE)

    def test_key_invites_sends_again_and_revokes(self, api):
        made = api.post("/invitations", {"email": "c@example.com"})
        assert (made.status_code, made.json()["invited_by"]) == (201, None)
        path = f"/invitations/{made.json()['id']}"

        assert api.post(f"{path}/resend").status_code == 200
        assert api.get("/invitations").json()["total"] == 1
        assert api.delete(path).status_code == 204

    def test_key_makes_no_admin(self, api, ada):
        body = {"email": "c@example.com", "role": "admin"}

        assert result(api.post("/invitations", body)) == NOT_FOR_KEY
        several = api.post("/invitations", {"invitations": [body, {"email": "d@example.com"}]})

        items = several.json()["items"]
        assert items[0] == {"email": "c@example.com", "error": "not permitted for this key"}
        assert items[1]["role"] == "member"

    def test_key_revives_no_invitation_of_an_admin(self, api, ada):
        expired = Invitation.objects.invite(ada, "c@example.com", role="admin")
        Invitation.objects.update(expires_at=timezone.now())

        assert result(api.post(f"/invitations/{expired.pk}/resend")) == NOT_FOR_KEY
        expired.refresh_from_db()
        assert not expired.is_live()

    def test_key_of_the_operators_company_invites_nobody(self, by_key):
        boss = User.objects.create_superuser("boss@example.com", None)
        api = by_key(Scope.INVITATIONS_WRITE, maker=boss)

        answer = api.post("/invitations", {"email": "c@example.com"})

        assert answer.status_code == 403
        assert not Invitation.objects.exists()

    def test_invitation_is_accepted_after_the_makers_end(self, api, ada, bob):
        api.post("/invitations", {"email": "c@example.com"})
        User.objects.filter(pk=ada.pk).update(is_active=False)
        body = {"token": Invitation.objects.get().token, "password": "a good new one"}

        answer = API().post("/invitations/accept", body | {"first_name": "Carl", "last_name": "C"})

        assert answer.status_code == 200

    def test_mail_is_in_the_makers_language_and_names_no_inviter(self, api, ada):
        User.objects.filter(pk=ada.pk).update(language="sv")
        api.post("/invitations", {"email": "c@example.com"})

        invitation = Invitation.objects.get()
        assert (invitation.language, invitation.mail_context()["inviter"]) == ("sv", "")


def test_company_deleted_by_the_release_before(new_key, ada):
    """Which does not know the table: the database cascades."""
    new_key()
    company = Account.objects.create(name="Gone")
    gone = User.objects.create(email="gone@example.com", account=company, role="admin")
    ApiKey.objects.make(gone, "Theirs", ["users:read"])
    key = ApiKey.objects.get(name="Payroll")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM mail_outgoingmail")
        cursor.execute("DELETE FROM accounts_user WHERE email = 'gone@example.com'")
        cursor.execute("UPDATE accounts_apikey SET created_by_id = NULL WHERE id = %s", [key.pk])
        cursor.execute("DELETE FROM accounts_account WHERE name = 'Gone'")

    assert list(ApiKey.objects.all()) == [key]


def test_users_sorted_by_id_keep_their_places(by_key, ada, bob, new_user):
    """In which a copy reads all pages: renaming a user moves nobody."""
    new_user(account=ada.account)
    api = by_key(Scope.USERS_READ)

    def places():
        pages = [api.get(f"/users?sort=id&per_page=1&page={n}").json()["items"] for n in (1, 2, 3)]
        return [user["id"] for [user] in pages]

    before = places()
    bob.change_profile(bob, last_name="Aaa")

    assert places() == before == sorted(before)
