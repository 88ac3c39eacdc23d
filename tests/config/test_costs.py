"""What calls cost: the exact number of SQL statements and Redis commands, and their time."""

import gc
import json
import time

import pytest

from accounts import tokens
from tests.cast import PASSWORD
from tests.clients import API
from tests.conftest import LIMITS
from tests.routes import METHODS, ROUTES, url_of

pytestmark = pytest.mark.django_db
# Calls that no limit applies to, each with its reason.
UNCOUNTED = {
    "/health": "a load balancer asks every few seconds",
    "/health/live": "a process manager asks every few seconds",
    "/metrics": "Prometheus asks, with a token",
    "/admin": "redirects to the back office, which counts",
}


def test_refused_call_takes_no_query(costs, api, settings):
    """The request is counted before its view runs."""
    for name in LIMITS:
        setattr(settings, name, 0)
    advice = "make the view a CountedView (api/views.py), or add it to UNCOUNTED with a reason"
    for path in {route.path for route in ROUTES} - UNCOUNTED.keys():
        for method in METHODS:
            cost = costs(lambda method=method, path=path: api.call(method.lower(), url_of(path)))
            assert cost[:2] == (429, 0), f"{method} {path} isn't counted before its work: {advice}"


def test_methods_are_those_of_the_walk(as_ada):
    """Other tests walk the methods of tests/routes.py."""
    for route in ROUTES:
        for method in set(METHODS) - set(route.methods):
            answer = as_ada.call(method.lower(), url_of(route.path))
            assert answer.status_code in {404, 405}, f"{method} {route.path} is in no table"


def test_identity_takes_one_query_and_one_command(costs, as_ada):
    assert costs(lambda: as_ada.get("/auth/me")) == (200, 1, 1)


def test_log_in_takes_five_queries_and_one_command(costs, api, ada):
    body = {"email": ada.email, "password": PASSWORD}

    assert costs(lambda: api.post("/auth/login", body)) == (200, 5, 1)


def test_known_devices_cost_a_log_in_three_queries_at_most(costs, api, ada, settings):
    settings.DEVICE_LOCKOUT = True
    body = {"email": ada.email, "password": PASSWORD}

    assert costs(lambda: api.post("/auth/login", body)) == (200, 7, 1)  # a device made known
    assert costs(lambda: api.post("/auth/login", body)) == (200, 8, 1)  # a known one


def test_refresh_takes_one_query_and_one_command(costs, api, ada):
    body = {"refresh_token": str(tokens.issue_pair(ada)[1])}

    assert costs(lambda: api.post("/auth/refresh", body)) == (200, 1, 1)


def test_bad_token_takes_no_query(costs):
    assert costs(lambda: API(authorization="Bearer x.y.z").get("/auth/me")) == (401, 0, 1)


# As much as a body holds. NFKC sorts the marks by their class, moving one at a time.
MARKS = "a" + "\u0301" * 15_000 + "\u0316" * 15_000
DIGITS = "a" + "1" * 12_000 + "a"
PERSON = {"token": "a", "first_name": "A", "last_name": "B", "password": PASSWORD}
SIGN_UP = "/auth/complete-signup", PERSON | {"account_name": "A"}


def cpu_time():
    """The CPU seconds of this thread so far, once the garbage of earlier tests is collected."""
    gc.collect()
    return time.thread_time()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/auth/login", {"email": f"a@{MARKS}", "password": PASSWORD}),
        ("/auth/signup", {"email": f"a@{MARKS}"}),
        (SIGN_UP[0], SIGN_UP[1] | {"account_name": MARKS}),
        (SIGN_UP[0], SIGN_UP[1] | {"password": MARKS}),
        (SIGN_UP[0], SIGN_UP[1] | {"password": DIGITS}),
        ("/invitations/accept", PERSON | {"last_name": MARKS}),
    ],
)
def test_long_text_takes_no_long_time(api, path, body):
    content = json.dumps(body, ensure_ascii=False).encode()
    begun = cpu_time()

    answer = api.post(path, content)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid request")
    assert time.thread_time() - begun < 1  # without a cut: from 1.6 to 13 s


def test_many_lines_of_cookies_take_no_long_time(api):
    begun = cpu_time()

    answer = api.get("/health/live", headers={"cookie": 'a="' + r"\a" * 20_000 + '"'})

    assert answer.status_code == 200
    assert time.thread_time() - begun < 1  # when Python 3.11.7 reads them: 2 s
