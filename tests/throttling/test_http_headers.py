"""The rate-limit headers: answers of counted paths have them, other answers do not."""

import pytest
from django.db import OperationalError

from accounts.views import MeView
from backoffice.limits import TIER_TEXTS
from tests.cast import PASSWORD
from tests.clients import TOO_MANY_ATTEMPTS
from tests.tables import compare
from tests.throttling.conftest import CREDENTIAL_PATHS, limits
from throttling.errors import RateLimited
from throttling.throttles import TIERS as THROTTLES
from throttling.throttles import CredentialThrottle

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]

TIERS = {"public": "300", "authenticated": "300", "credential": "10"}
CREDENTIALS = {"email": "ada@example.com", "password": PASSWORD}


def first(tier):
    """The headers of the first answer in a window."""
    limit = TIERS[tier]
    return {
        "x-ratelimit-limit": limit,
        "x-ratelimit-remaining": str(int(limit) - 1),
        "x-ratelimit-reset": "60",
    }


@pytest.mark.parametrize(
    ("status", "tier", "call"),
    [
        (200, "public", ("get", "/.well-known/jwks.json", {})),
        (200, "credential", ("post", "/auth/login", {"body": CREDENTIALS})),
        (400, "credential", ("post", "/auth/login", {"body": b"{"})),
        (400, "public", ("get", "/nope", {"headers": {"host": "evil.example"}})),
        (400, "credential", ("post", "/auth/login", {"headers": {"host": "evil.example"}})),
        (401, "authenticated", ("get", "/auth/me", {})),
        (401, "credential", ("post", "/auth/login", {"body": CREDENTIALS | {"password": "x"}})),
        (404, "public", ("get", "/nope", {})),
        (404, "public", ("head", "/nope", {})),
        (405, "credential", ("get", "/auth/login", {})),
        (413, "credential", ("post", "/auth/login", {"body": b" " * 65_537})),
        (415, "credential", ("post", "/auth/login", {"content_type": "text/plain", "body": b"x"})),
    ],
)
def test_answer_has_the_limit_headers_of_its_tier(api, ada, status, tier, call):
    method, path, options = call
    answer = api.call(method, path, **options)

    assert answer.status_code == status
    assert limits(answer) == first(tier)


@pytest.mark.parametrize(
    ("status", "method", "path"),
    [(200, "get", "/auth/me"), (204, "post", "/auth/logout"), (405, "put", "/auth/me")],
)
def test_answer_to_a_user_has_limit_headers(as_ada, status, method, path):
    answer = as_ada.call(method, path)

    assert answer.status_code == status
    assert limits(answer) == first("authenticated")


@pytest.mark.parametrize(("error", "status"), [(KeyError("x"), 500), (OperationalError(), 503)])
def test_server_error_has_limit_headers(as_ada, monkeypatch, error, status):
    def fail(*_):
        raise error

    monkeypatch.setattr(MeView, "get", fail)
    as_ada.client.raise_request_exception = False
    answer = as_ada.get("/auth/me")

    assert answer.status_code == status
    assert limits(answer) == first("authenticated")


# ---- Counting down, and what is refused --------------------------------------------------------


def test_credential_calls_share_one_count(api):
    remaining = [
        api.post(path, {}).headers["x-ratelimit-remaining"]
        for path in [*CREDENTIAL_PATHS, "/auth/login", "/auth/login"]
    ]

    assert remaining == [str(9 - n) for n in range(len(remaining))]
    assert len(remaining) >= 7


@pytest.mark.parametrize("path", CREDENTIAL_PATHS)
def test_credential_refusal_says_only_when_to_come_back(api, settings, path):
    settings.RATE_LIMIT_CREDENTIAL = 1
    api.post("/auth/login", {})
    answer = api.post(path, {})

    assert (answer.status_code, answer.json()) == (429, TOO_MANY_ATTEMPTS)
    assert limits(answer) == {"retry-after": "60"}


def test_refusal_in_other_tiers_says_that_no_request_remains(as_ada, api, settings):
    settings.RATE_LIMIT_PUBLIC = settings.RATE_LIMIT_AUTHENTICATED = 1
    for client, path in [(api, "/nope"), (api, "/auth/me"), (as_ada, "/auth/me")]:
        client.get(path)
        answer = client.get(path)

        assert answer.status_code == 429
        assert answer.json() == {"error": "rate_limited"} | RateLimited.extra
        assert limits(answer) == {"retry-after": "60", "x-ratelimit-remaining": "0"}


def test_limit_headers_tell_the_seconds_of_the_callers_own_window(api, redis, settings):
    settings.RATE_LIMIT_CREDENTIAL = 2
    redis.set("throttle:credential:127.0.0.1", 1, px=17_400)

    reset = limits(api.post("/auth/login", {}))["x-ratelimit-reset"]
    refused = limits(api.post("/auth/login", {}))
    seconds_left = redis.pttl("throttle:credential:127.0.0.1") / 1000

    assert set(refused) == {"retry-after"}
    assert seconds_left <= int(refused["retry-after"]) <= int(reset) <= 18


# ---- What is not counted -----------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/health", "/static/admin/css/base.css"])
def test_health_or_file_is_not_counted(client, redis, path):
    answer = client.get(path)
    answer.close()

    assert answer.status_code == 200
    assert limits(answer) == {}
    assert redis.keys("throttle:*:*") == []


@pytest.mark.parametrize("path", ["/auth/login", "/auth/me", "/nope"])
@pytest.mark.parametrize("origin", ["https://app.example.com", "https://evil.example", "null"])
def test_preflight_is_not_counted(api, redis, path, origin):
    headers = {"origin": origin, "access-control-request-method": "POST"}
    answer = api.call("options", path, headers=headers)

    assert (answer.status_code, limits(answer)) == (200, {})
    assert redis.keys("throttle:*") == []


def test_attempt_counts_once_in_the_credential_tier(rf):
    request, throttle = rf.post("/auth/login"), CredentialThrottle()
    throttle.allow_request(request)
    decision = request.rate_limit
    throttle.allow_request(request)

    assert request.rate_limit is decision


def test_page_of_limits_has_every_tier():
    tiers = {throttle.tier.upper() for throttle in THROTTLES}

    compare(TIER_TEXTS.keys(), tiers, "add the tier to TIER_TEXTS of backoffice/limits.py")
