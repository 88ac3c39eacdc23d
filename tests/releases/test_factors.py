"""People who signed in with 1.0.0 go on after the upgrade, and set second factors up; and what a
process of 1.0.0 writes meanwhile is known to this release."""

import base64
import re
import uuid
from functools import partial

import jwt
import psycopg

from tests.conftest import Service
from tests.releases.conftest import HERE
from tests.releases.fill import PASSWORD
from tests.requests import ask
from tests.signin.factors.authenticator import Authenticator
from tests.signin.factors.conftest import PROOF, code

ADA = {"email": "ada@example.com", "password": PASSWORD}
Old = tuple[Service, dict[str, str]]


def as_1_0_0(service, kind, claims):
    """A token as 1.0.0 wrote it: under the key's own kid, without `amr` and `aud`."""
    (path,) = (service.folder / "data" / "keys").glob("*.pem")
    [key] = ask(service.url, "GET", "/.well-known/jwks.json").json()["keys"]
    kept = {"iss", "sub", "account_id", "role", "auth_time", "token_version", "iat", "exp"}
    own = {"token_type": kind, "jti": uuid.uuid4().hex}
    payload = {name: value for name, value in claims.items() if name in kept} | own
    return jwt.encode(payload, path.read_text(), "RS256", headers={"kid": key["kid"]})


def sign_in_as_1_0_0(service):
    """Ada's calls with her access token, and her refresh token."""
    pair = ask(service.url, "POST", "/auth/login", ADA).json()
    claims = jwt.decode(pair["access_token"], options={"verify_signature": False})
    access, refresh = (as_1_0_0(service, kind, claims) for kind in ("access", "refresh"))
    return partial(ask, service.url, Authorization=f"Bearer {access}"), refresh


def amr(token):
    return jwt.decode(token, options={"verify_signature": False})["amr"]


def test_signed_in_person_goes_on_and_adds_an_app_and_a_passkey(old):
    service, _ = old
    call, refresh = sign_in_as_1_0_0(service)
    refreshing = partial(ask, service.url, "POST", "/auth/refresh", {"refresh_token": refresh})
    log_in = partial(ask, service.url, "POST", "/auth/login")
    assert (call("GET", "/auth/me").status, refreshing().status) == (200, 200)

    begun = call("POST", "/auth/factors/totp", PROOF).json()
    secret = base64.b32decode(begun["secret"])
    first = {"id": begun["id"], "code": code(0, secret)}
    codes = call("POST", "/auth/factors/totp/confirm", first).json()["recovery_codes"]
    key = Authenticator()
    key.origin = f"http://localhost:{service.port}"
    options = call("POST", "/auth/factors/passkeys/options", PROOF | {"code": codes[0]}).json()
    added = call("POST", "/auth/factors/passkeys", {"credential": key.register(options)})

    assert added.status == 201
    assert (refreshing().status, amr(refreshing().json()["refresh_token"])) == (200, ["pwd"])
    assert log_in(ADA).json()["methods"] == ["totp", "passkey", "recovery_code"]
    assert log_in(ADA | {"code": code(1, secret)}).status == 200
    signed = key.sign(ask(service.url, "POST", "/auth/passkeys/options", {}).json())
    assert ask(service.url, "POST", "/auth/passkeys/login", {"credential": signed}).status == 200


def rows_of_1_0_0():
    """Table, columns and rows, as COPY takes them, of all that 1.0.0 wrote; but for the tables
    that are Django's own, and what a migration fills."""
    dump = (HERE / "1.0.0.postgresql.sql").read_text("utf-8")
    found = re.findall(r"^COPY public\.(\w+) (\(.*\)) FROM stdin;\n((?:.+\n)*?)\\\.$", dump, re.M)
    return [one for one in found if not re.match("django_|auth_|mail_mailtally", one[0])]


def test_rows_of_1_0_0_fit_beside_the_new_columns(new_database, new_service):
    """While hosts are upgraded, those of the release before go on writing to the new tables."""
    url, written = new_database(), 0
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # in no order of the keys
        for table, columns, rows in rows_of_1_0_0():
            with connection.cursor().copy(f"COPY {table} {columns} FROM STDIN") as copy:
                copy.write(rows)
            written += bool(rows)
    service = new_service(DATABASE_URL=url).start()

    assert written > 10
    answer = ask(service.url, "POST", "/auth/login", ADA)
    bearer = f"Bearer {answer.json()['access_token']}"
    assert ask(service.url, "GET", "/auth/factors", Authorization=bearer).json()["items"] == []
    seen = ask(service.url, "GET", "/account", Authorization=bearer).json()
    assert (answer.status, seen["second_factor"]) == (200, "optional")
