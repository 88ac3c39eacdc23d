"""The tiers: who is counted where, what refuses, and that a request counts once."""

from types import SimpleNamespace

import pytest
from rest_framework.request import Request

from throttling.errors import TooManyAttempts
from throttling.views import CredentialThrottle, PublicThrottle

pytestmark = pytest.mark.usefixtures("redis")


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
