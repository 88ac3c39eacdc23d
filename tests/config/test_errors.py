"""Every error answer is JSON with a string `error`, whoever makes it."""

from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import Client

from accounts.models import User
from tests.clients import API, bearer

pytestmark = pytest.mark.django_db


def error_of(answer):
    assert answer["Content-Type"] == "application/json"
    return answer.status_code, answer.json()["error"]


def send(body, path="/auth/login", **options):
    return API().post(path, body, **options)


BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_unknown_path_is_a_page_for_a_person_in_a_browser(api):
    for headers in (BROWSER, BROWSER | {"sec-fetch-mode": "navigate"}):
        answer = api.get("/nope/at/all", headers=headers)

        assert (answer.status_code, answer["Content-Type"][:9]) == (404, "text/html")
        assert "This page doesn't exist." in answer.content.decode()
        assert "x-ratelimit-remaining" in answer.headers


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        *((method, {}) for method in ("get", "post", "put", "patch", "delete", "options")),
        ("get", {"accept": "image/avif,image/webp,*/*;q=0.8"}),
        ("get", BROWSER | {"sec-fetch-mode": "cors"}),
        ("post", BROWSER),
    ],
)
def test_unknown_path_is_json_for_programs(api, method, headers):
    assert error_of(api.call(method, "/nope/at/all", headers=headers)) == (404, "not found")


@pytest.mark.parametrize(
    ("method", "path"),
    [("get", "/auth/login"), ("options", "/auth/me"), ("put", "/auth/me"), ("post", "/health")],
)
def test_other_method_is_405_and_says_which_are_allowed(api, method, path):
    answer = api.call(method, path, headers={"authorization": "x"})

    assert error_of(answer) in {(405, "method not allowed"), (401, "missing or invalid token")}
    assert answer.status_code == 401 or "OPTIONS" not in answer["Allow"]


BODY = '{"email": "ada@example.com", "password": "a password"}'


@pytest.mark.parametrize(
    "body",
    [b"{", b"null", b'{"email": NaN}', b"\xff\xfe{}", b'{"email": "\xe9"}', b"[" * 20_000]
    + [BODY.encode(form) for form in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")],
)
def test_malformed_json(body):
    assert error_of(send(body)) == (400, "malformed JSON")


@pytest.mark.parametrize(
    "value", [7, 1.5, True, None, [], {}, ["a@b.cc"], "", " ", "a\x00@b.cc", "no address", "a@b"]
)
def test_bad_value_of_a_field_is_named(value):
    answer = API().post("/auth/login", {"email": value, "password": "x"})

    assert error_of(answer) == (400, "invalid request")
    assert list(answer.json()["fields"]) == ["email"]
    assert all(isinstance(text, str) for text in answer.json()["fields"]["email"])


def test_lone_surrogates_are_refused(api):
    answer = send(b'{"email": "a@example.com", "password": "\\ud800"}')

    assert error_of(answer) == (400, "invalid request")
    assert list(answer.json()["fields"]) == ["password"]


def test_missing_fields_are_all_named_and_unknown_ones_ignored(api):
    assert sorted(api.post("/auth/login", {"unknown": 1}).json()["fields"]) == ["email", "password"]


@pytest.mark.parametrize(
    "content_type",
    ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""],
)
def test_other_media_types_are_415(content_type):
    answer = send(b'{"email": "a@example.com"}', content_type=content_type)

    assert error_of(answer) == (415, "unsupported media type")


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*;q=0", "é", "", ";;;"])
def test_accept_header_is_ignored(api, accept):
    answer = api.post("/auth/login", {}, headers={"accept": accept.encode().decode("latin-1")})

    assert error_of(answer) == (400, "invalid request")


@pytest.mark.parametrize(("size", "status"), [(65536, 400), (65537, 413), (10_000_000, 413)])
def test_body_is_at_most_64_kib(size, status):
    assert error_of(send(b" " * size))[0] == status


@pytest.mark.parametrize("host", ["evil.example", "a b", "", "[::1"])
def test_unknown_host_is_refused_and_counted(api, host):
    answer = Client(headers={"host": host}).get("/auth/me")

    assert error_of(answer) == (400, "invalid host")
    assert int(answer["x-ratelimit-remaining"]) < int(answer["x-ratelimit-limit"])


def test_unexpected_error_is_500_counted_and_tells_nothing(api, monkeypatch, caplog):
    api.client.raise_request_exception = False

    def fail(*_, **__):
        raise KeyError("something private")

    monkeypatch.setattr("signin.views.OutgoingMail.objects.request_mail", fail)

    answer = api.post("/auth/signup", {"email": "new@example.com"})

    assert answer.json() == {"error": "internal error"}
    assert answer["x-ratelimit-limit"]
    assert "POST /auth/signup failed" in caplog.text


def test_row_that_a_call_of_admins_misses_by_mistake_is_500(ada, bob, monkeypatch):
    as_ada = bearer(ada)
    as_ada.client.raise_request_exception = False
    monkeypatch.setattr("accounts.models.User.sign_out", Mock(side_effect=User.DoesNotExist))

    assert as_ada.post(f"/users/{bob.pk}/sign-out").status_code == 500


def test_database_that_fails_during_the_back_offices_session_is_one_503(operator, monkeypatch):
    load = "django.contrib.sessions.backends.db.SessionStore.load"
    monkeypatch.setattr(load, Mock(side_effect=OperationalError))
    operator.raise_request_exception = False
    answer = operator.get("/admin/")

    assert answer.status_code == 503
    assert answer.headers.keys() >= {"X-Request-ID", "x-ratelimit-limit", "Content-Security-Policy"}


def test_errors_are_never_stored_by_caches(api):
    for path in ("/auth/me", "/nope", "/auth/login"):
        assert api.get(path)["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({}, {"token": ["required"], "password": ["required"]}),
        ({"token": "x", "password": "short"}, {"password": ["too_short"]}),
        ({"token": "x", "password": "a" * 257}, {"password": ["max_length"]}),
        ({"token": "", "password": 7}, {"token": ["blank"], "password": ["invalid"]}),
    ],
)
def test_every_sentence_has_a_code(db, body, codes):
    answer = API().post("/password-changes/redeem", body).json()

    assert answer["codes"] == codes
    assert answer["fields"].keys() == codes.keys()
