"""Real requests to four gunicorn processes and one Redis: exact counts, and equal refusals."""

import itertools
from collections import Counter

import pytest
from django.core.cache import cache

from accounts import tokens
from tests import servers
from tests.cast import PASSWORD
from tests.clients import TOO_MANY_ATTEMPTS
from tests.requests import ask
from tests.throttling.conftest import at_once, limits, message, shared_service
from tests.throttling.helpers import fail

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.live]

LIMITS = {"RATE_LIMIT_AUTHENTICATED": "100", "RATE_LIMIT_PUBLIC": "100"}


@pytest.fixture(scope="module")
def four(kept_key, tmp_path_factory):
    """Four processes behind one trusted proxy, so that a test can call from many addresses."""
    folder = tmp_path_factory.mktemp("four")
    # A store that a busy machine keeps waiting for 0.1 s lets calls through, as it should.
    store = f"{servers.REDIS.url}?socket_timeout=60&socket_connect_timeout=60"
    processes = {"WEB_CONCURRENCY": "4", "TRUSTED_PROXY_COUNT": "1", "REDIS_URL": store}
    service = shared_service(folder, **processes, **LIMITS)
    yield service.start()
    service.stop()


def log_in(email="ada@example.com", password=PASSWORD, **headers):
    return message("POST", "/auth/login", {"email": email, "password": password}, **headers)


def statuses(answers):
    return dict(Counter(answer.status for answer in answers))


def assert_counted_down(answers, limit):
    """Assert that the allowed requests have counted down to 0, each header within its range."""
    allowed = [limits(answer) for answer in answers if answer.status != 429]
    refused = [limits(answer) for answer in answers if answer.status == 429]
    remaining = sorted(int(headers["x-ratelimit-remaining"]) for headers in allowed)
    assert remaining == list(range(limit))
    assert {headers["x-ratelimit-limit"] for headers in allowed} == {str(limit)}
    assert all(1 <= int(headers["x-ratelimit-reset"]) <= 60 for headers in allowed)
    assert all(1 <= int(headers["retry-after"]) <= 60 for headers in refused)


@pytest.mark.parametrize(
    ("path", "status", "limit"),
    [("/nope", 404, 100), ("/auth/me", 200, 100), ("/auth/refresh", 200, 10)],
)
def test_exactly_the_limit_of_300_parallel_calls_is_allowed(four, ada, path, status, limit):
    access, refresh = map(str, tokens.issue_pair(ada))
    header = {"Authorization": f"Bearer {access}"} if path == "/auth/me" else {}
    call = ("POST", path, {"refresh_token": refresh}) if path == "/auth/refresh" else ("GET", path)
    cache.clear()
    answers = at_once(four, [
        message(*call, X_Forwarded_For=f"192.0.2.{n % 200 if header else 1}", **header)
        for n in range(300)
    ])  # fmt: skip

    assert statuses(answers) == {status: limit, 429: 300 - limit}
    assert_counted_down(answers, limit)


def test_fifty_parallel_guesses_from_fifty_addresses_meet_the_lock(four, ada):
    guesses = [log_in(password=f"guess {n}", X_Forwarded_For=f"192.0.2.{n}") for n in range(50)]

    numbers = statuses(at_once(four, guesses))
    assert numbers[401] == 5
    assert set(numbers) <= {401, 429, 503}  # 503: too many wait for a hash
    answer = log_in()(four)
    assert (answer.status, answer.json()) == (429, TOO_MANY_ATTEMPTS)


# ---- A lock and a throttle ---------------------------------------------------------------------


def without_date(answer):
    """The answer's status, headers and body, without the date and the request's random id."""
    varying = {"Date", "X-Request-ID"}
    assert varying <= set(answer.headers)
    headers = [header for header in answer.headers.items() if header[0] not in varying]
    return answer.status, headers, answer.body


# The processes remember refused callers, so no test meets the callers of another.
CALLERS = (f"203.0.113.{n}" for n in itertools.count(100))


def refusals(four, redis, *call, **headers):
    """Of a caller who has used up his calls, and of one who has not: each has 17 s left."""
    for caller, used in [(next(CALLERS), 10), (next(CALLERS), 1)]:
        redis.set(f"throttle:credential:{caller}", used, px=17_000)
        yield ask(four.url, *call, X_Forwarded_For=caller, **headers)


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
@pytest.mark.parametrize("password", [PASSWORD, "wrong password"])
def test_lock_and_throttle_answer_the_same_bytes(four, redis, ada, email, password):
    fail(5, email)
    body = {"email": email, "password": password}
    throttled, locked = refusals(four, redis, "POST", "/auth/login", body)

    assert throttled.status == locked.status == 429
    assert without_date(throttled) == without_date(locked)
    assert limits(locked) == {"retry-after": "17"}
    assert locked.json() == TOO_MANY_ATTEMPTS


def test_lock_of_a_refresh_token_answers_the_same_bytes(four, redis, ada):
    fail(5, ada.email)
    cookie = f"service_refresh={tokens.issue_pair(ada)[1]}"
    throttled, locked = refusals(four, redis, "POST", "/auth/refresh", Cookie=cookie)

    assert without_date(throttled) == without_date(locked)
    assert "Set-Cookie" not in locked.headers


# ---- What callers say about themselves ---------------------------------------------------------


def left(answer):
    return int(answer.headers["x-ratelimit-remaining"])


def test_only_the_last_of_several_forwarded_headers_counts(four):
    def call(forged):
        lines = {"X-Forwarded-For": forged, "x-forwarded-for": "203.0.113.9"}
        return ask(four.url, "GET", "/nope", **lines)

    assert [left(call(forged)) for forged in ("1.2.3.4", "5.6.7.8")] == [99, 98]
