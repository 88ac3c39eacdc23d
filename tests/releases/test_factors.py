"""People who signed in with 1.0.0 go on after the upgrade, and set second factors up."""

import base64
import uuid
from functools import partial

import jwt

from tests.conftest import Service
from tests.releases.conftest import OLD_KEY
from tests.releases.fill import PASSWORD
from tests.requests import ask
from tests.signin.factors.authenticator import Authenticator
from tests.signin.factors.conftest import PROOF, code

ADA = {"email": "ada@example.com", "password": PASSWORD}
Old = tuple[Service, dict[str, str]]


def as_1_0_0(service, kind, claims):
    """A token as 1.0.0 wrote it: under the key's own kid, without `amr` and `aud`."""
    kid = ask(service.url, "GET", "/.well-known/jwks.json").json()["keys"][0]["kid"]
    kept = {"iss", "sub", "account_id", "role", "auth_time", "token_version", "iat", "exp"}
    own = {"token_type": kind, "jti": uuid.uuid4().hex}
    payload = {name: value for name, value in claims.items() if name in kept} | own
    return jwt.encode(payload, OLD_KEY, "RS256", headers={"kid": kid})


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
