"""What is good once is good once over processes, too: thirty requests at once, in two of them."""

import base64
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import PASSWORD
from tests.requests import ask
from tests.signin.factors.authenticator import ORIGIN, Authenticator
from tests.signin.factors.conftest import PROOF, code

LOGIN = {"email": "ada@example.com", "password": PASSWORD}
ENVIRONMENT = {
    "WEB_CONCURRENCY": "2",
    "FRONTEND_URL": ORIGIN,
    "LOCKOUT_THRESHOLD": "1000",
    "RATE_LIMIT_CREDENTIAL": "1000",
    "DJANGO_SUPERUSER_EMAIL": LOGIN["email"],
    "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
}
AT_ONCE = 30


@pytest.fixture
def shown(new_service):
    """A service, and what Ada shows of each kind: to which call, with which body."""
    service = new_service(**ENVIRONMENT)
    service.manage("createsuperuser", "--noinput")
    url, key = service.start().url, Authenticator()
    token = ask(url, "POST", "/auth/login", LOGIN).json()["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    begun = ask(url, "POST", "/auth/factors/totp", PROOF, **bearer).json()
    secret = base64.b32decode(begun["secret"])
    first = {"id": begun["id"], "code": code(0, secret)}
    added = ask(url, "POST", "/auth/factors/totp/confirm", first, **bearer).json()
    codes, bearer = (
        added["recovery_codes"],
        {"Authorization": f"Bearer {added['session']['access_token']}"},
    )
    proof = PROOF | {"code": codes[0]}
    options = ask(url, "POST", "/auth/factors/passkeys/options", proof, **bearer).json()
    made = {"credential": key.register(options)}
    assert ask(url, "POST", "/auth/factors/passkeys", made, **bearer).status == 201
    signed = key.sign(ask(url, "POST", "/auth/passkeys/options", {}).json())
    return service, {
        "code": ("/auth/login", LOGIN | {"code": code(1, secret)}),
        "recovery code": ("/auth/login", LOGIN | {"code": codes[1]}),
        "challenge": ("/auth/passkeys/login", {"credential": signed}),
    }


def test_each_proof_is_accepted_once_over_processes(shown):
    service, bodies = shown
    for kind, (path, body) in bodies.items():
        with ThreadPoolExecutor(AT_ONCE) as threads:
            calls = [threads.submit(ask, service.url, "POST", path, body) for _ in range(AT_ONCE)]
        answers = Counter(call.result().status for call in calls)

        assert answers[200] == 1, kind
        assert set(answers) <= {200, 401, 503}, kind  # 503: nobody's turn to hash came in time
