"""The tiers: who is counted where, what refuses, and that a request counts once."""

from types import SimpleNamespace

import pytest
from django.test import RequestFactory
from rest_framework.request import Request
from rest_framework.response import Response

from throttling.errors import TooManyAttempts
from throttling.views import AuthenticatedThrottle, CountedView, CredentialThrottle, PublicThrottle

pytestmark = pytest.mark.usefixtures("redis")


class Page(CountedView):
    authentication_classes = []

    def get(self, request):
        return Response({})


class Protected(Page):
    throttle_classes = [AuthenticatedThrottle]

    def subject(self, request):
        return request.headers.get("X-Subject")


class LogIn(Page):
    throttle_classes = [CredentialThrottle]


def get(view, peer="203.0.113.9", **headers):
    request = RequestFactory().get("/", REMOTE_ADDR=peer, headers=headers)
    return view.as_view()(request).render()


def headers(response):
    names = ("x-ratelimit-", "retry-after")
    return {k.lower(): v for k, v in response.items() if k.lower().startswith(names)}


@pytest.mark.parametrize(("view", "limit"), [(Page, "300"), (Protected, "300"), (LogIn, "10")])
def test_answer_carries_its_tier(view, limit):
    assert headers(get(view)) == {
        "x-ratelimit-limit": limit,
        "x-ratelimit-remaining": str(int(limit) - 1),
        "x-ratelimit-reset": "60",
    }


@pytest.mark.parametrize("view", [Page, Protected, LogIn])
def test_tier_refuses_what_is_over_its_limit(settings, view):
    settings.RATE_LIMIT_PUBLIC = settings.RATE_LIMIT_AUTHENTICATED = 1
    settings.RATE_LIMIT_CREDENTIAL = 1
    get(view)

    assert get(view).status_code == 429


def test_wrong_method_has_been_counted():
    request = RequestFactory().post("/", REMOTE_ADDR="203.0.113.9")
    response = Page.as_view()(request)

    assert response.status_code == 405
    assert headers(response)["x-ratelimit-remaining"] == "299"


def test_user_is_counted_from_wherever_he_calls():
    get(Protected, "203.0.113.9", **{"X-Subject": "ada"})
    response = get(Protected, "198.51.100.1", **{"X-Subject": "ada"})

    assert headers(response)["x-ratelimit-remaining"] == "298"


def test_users_behind_one_address_have_counts_of_their_own():
    get(Protected, **{"X-Subject": "ada"})

    assert headers(get(Protected, **{"X-Subject": "bob"}))["x-ratelimit-remaining"] == "299"
    assert headers(get(Protected))["x-ratelimit-remaining"] == "299"


def test_user_named_like_an_address_is_not_that_address():
    get(Protected, **{"X-Subject": "203.0.113.9"})

    assert headers(get(Protected))["x-ratelimit-remaining"] == "299"


def test_plain_request_can_be_counted(settings, rf):
    settings.RATE_LIMIT_CREDENTIAL = 1
    first, second = rf.post("/"), rf.post("/")
    CredentialThrottle().allow_request(first)
    with pytest.raises(TooManyAttempts):
        CredentialThrottle().allow_request(second)

    assert first.rate_limit.allowed
    assert second.rate_limit.reset == 60


def test_request_is_counted_once(rf):
    request = Request(rf.get("/"))
    for throttle in [CredentialThrottle, CredentialThrottle, PublicThrottle]:
        throttle().allow_request(request, SimpleNamespace())

    assert request.rate_limit.remaining == 9


def test_refused_request_stays_refused(settings, rf):
    settings.RATE_LIMIT_CREDENTIAL = 1
    CredentialThrottle().allow_request(rf.get("/"))
    request = rf.get("/")
    for _ in range(2):
        with pytest.raises(TooManyAttempts):
            CredentialThrottle().allow_request(request)


@pytest.mark.parametrize(("view", "status"), [(Page, 200), (Protected, 200), (LogIn, 429)])
def test_lost_store_lets_ordinary_calls_through_and_holds_guessers(
    absent_store, settings, view, status
):
    settings.RATE_LIMIT_PUBLIC = settings.RATE_LIMIT_AUTHENTICATED = 1
    settings.RATE_LIMIT_CREDENTIAL = 1
    get(view)

    assert get(view).status_code == status
