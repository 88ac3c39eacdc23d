"""RATE_LIMIT_DRY_RUN: a lower limit is tried before it is enforced."""

import pytest

from metrics import series
from tests.throttling.conftest import limits


@pytest.fixture(autouse=True)
def dry_run(settings, redis):
    settings.RATE_LIMIT_DRY_RUN = ["public"]
    settings.RATE_LIMIT_PUBLIC = settings.RATE_LIMIT_AUTHENTICATED = 2


def would_refuse():
    return series.decisions.labels("public", "would_refuse")._value.get()


def warnings(caplog):
    return [record.message for record in caplog.records if record.name == "throttling"]


def test_dry_run_allows_requests_over_the_limit_and_logs_them(api, caplog):
    before = would_refuse()
    answers = [api.get("/nope") for _ in range(5)]

    assert {answer.status_code for answer in answers} == {404}
    assert [limits(a)["x-ratelimit-remaining"] for a in answers] == ["1", "0", "0", "0", "0"]
    assert would_refuse() - before == 3
    assert warnings(caplog) == ["dry run: 127.0.0.1 would be refused in the public tier"]


def test_dry_run_logs_each_caller_once_a_window(api, caplog, redis):
    for _ in range(4):
        api.get("/nope")
    redis.flushall()  # the next window
    for address in ("127.0.0.1", "192.0.2.1"):
        for _ in range(4):
            api.get("/nope", REMOTE_ADDR=address)

    assert len(warnings(caplog)) == 3


def test_dry_run_of_one_tier_enforces_the_others(api, as_ada):
    assert [as_ada.get("/auth/me").status_code for _ in range(3)] == [200, 200, 429]
    assert [api.post("/auth/login", {}).status_code for _ in range(11)][-1] == 429


def test_dry_run_reports_no_refusal_during_an_outage(api, absent_store, caplog):
    assert [api.get("/nope").status_code for _ in range(4)] == [404] * 4
    assert not any("dry run" in message for message in warnings(caplog))
