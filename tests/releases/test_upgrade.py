"""1.0.0 is upgraded with a stop, and nobody is signed out; what was mailed and granted goes on."""

import base64
from datetime import UTC, datetime, timedelta

import jwt

from tests.releases.conftest import ADA, PASSWORD
from tests.requests import ask
from tests.signin.factors.authenticator import Authenticator
from tests.signin.factors.conftest import PROOF, code

YESTERDAY = datetime.now(UTC) - timedelta(days=1)


def kid(token):
    return jwt.get_unverified_header(token)["kid"].removeprefix("refresh-")


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_upgrade_signs_nobody_out(upgraded):
    http = upgraded.browser
    assert len({kid(pair["access_token"]) for pair in upgraded.pairs}) == 2

    for pair in upgraded.pairs:
        me = http.get("/auth/me", headers=bearer(pair["access_token"]))
        assert (me.status_code, me.json()["email"]) == (200, ADA["email"])
        seen = http.get(f"/users/{me.json()['id']}", headers=bearer(pair["access_token"]))
        assert seen.json()["last_sign_in_at"]
        body = {"refresh_token": pair["refresh_token"]}
        again = ask(upgraded.service.url, "POST", "/auth/refresh", body)
        assert again.status == 200
        assert ask(upgraded.service.url, "GET", "/auth/me", **bearer(again.json()["access_token"]))
    assert http.post("/auth/refresh").status_code == 200


def test_first_key_is_as_old_as_it_is(upgraded):
    """1.0.0 keeps no date of its first key's but that of its publication."""
    listed = upgraded.service.manage("listkeys").splitlines()[1:]

    assert len(listed) == 2
    assert all(datetime.fromisoformat(line.split()[-1]) > YESTERDAY for line in listed)


def test_links_locks_grants_and_mails_go_on(upgraded):
    http, held, service = upgraded.browser, upgraded.links, upgraded.service
    new = {"first_name": "G", "last_name": "H", "password": PASSWORD}
    grant = {"grant_type": "refresh_token", "refresh_token": held["grant"]}
    signed_in = http.post("/auth/login", json=ADA)
    answers = {
        "log-in": signed_in,
        "people": http.get("/users", headers=bearer(signed_in.json()["access_token"])),
        "lock": http.post("/auth/login", json=ADA | {"email": "locked@example.com"}),
        "sign-up": http.post(
            "/auth/complete-signup",
            json=new | {"token": held["signup"], "account_name": "Difference Engines"},
        ),
        "invitation": http.post("/invitations/accept", json=new | {"token": held["invitation"]}),
        "password": http.post(
            "/password-changes/redeem",
            json={"token": held["password change"], "password": "laws of thought"},
        ),
        "grant": http.post("/oauth/token", data=grant | {"client_id": held["client"]}),
    }
    service.manage("sendmail", "--once")

    expected = dict.fromkeys(answers, 200) | {"lock": 429}
    assert {name: answer.status_code for name, answer in answers.items()} == expected
    assert answers["people"].json()["total"] == 3
    mails = [path.read_text() for path in (service.folder / "mails").iterdir()]
    assert any("To: new@example.com" in mail for mail in mails)


def test_signed_in_user_adds_an_app_and_a_passkey(upgraded):
    service, pair = upgraded.service, upgraded.pairs[0]

    def call(method, path, body=None):
        return ask(service.url, method, path, body, **bearer(pair["access_token"]))

    def log_in(body):
        return ask(service.url, "POST", "/auth/login", body)

    begun = call("POST", "/auth/factors/totp", PROOF).json()
    secret = base64.b32decode(begun["secret"])
    first = {"id": begun["id"], "code": code(0, secret)}
    added = call("POST", "/auth/factors/totp/confirm", first).json()
    pair, codes = added["session"], added["recovery_codes"]  # older sessions have ended
    key = Authenticator()
    key.origin = f"http://localhost:{service.port}"
    options = call("POST", "/auth/factors/passkeys/options", PROOF | {"code": codes[0]}).json()
    added = call("POST", "/auth/factors/passkeys", {"credential": key.register(options)})

    assert added.status == 201
    body = {"refresh_token": pair["refresh_token"]}
    assert ask(service.url, "POST", "/auth/refresh", body).status == 200
    assert log_in(ADA).json()["methods"] == ["totp", "passkey", "recovery_code"]
    assert log_in(ADA | {"code": code(1, secret)}).status == 200
    signed = key.sign(ask(service.url, "POST", "/auth/passkeys/options", {}).json())
    assert ask(service.url, "POST", "/auth/passkeys/login", {"credential": signed}).status == 200


def test_start_without_the_imported_keys_is_refused(upgraded):
    """Rather than sign everybody out."""
    service = upgraded.service
    upgraded.stop()
    service.manage("shell", "--no-imports", "-c", FORGET_IMPORTED_KEYS)
    server = service.spawn("-m", "gunicorn", "config.wsgi")

    assert server.wait(60) != 0
    assert "run `manage.py importkeys FOLDER`" in service.log


FORGET_IMPORTED_KEYS = """
from keys.models import SigningKey

pytestmark = pytest.mark.live
SigningKey.objects.update(private_key="", public_jwk={})
"""
