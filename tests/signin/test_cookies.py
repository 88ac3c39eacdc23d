"""Cookies that an attacker may have planted or sent are not read, and cleared only if ours."""

import pytest
from django.test import Client

from accounts import tokens
from base.urls import web_origin
from signin.cookies import is_foreign
from tests.clients import API, bearer

pytestmark = pytest.mark.django_db

FOREIGN = ["https://evil.example.net", "null", "", "http://testserver.evil.example.net"]
OURS = ["http://testserver", "https://api.example.com", "https://app.example.com"]
OURS += ["https://partner.example.com:8443"]
# As a header's bytes come: Python strips these around a name.
SPACES = [space.encode().decode("latin-1") for space in "\u00a0\u2003\x85"]


@pytest.fixture(autouse=True)
def addresses(settings):
    settings.SERVICE_URL = "https://api.example.com"
    settings.FRONTEND_URL = "https://App.Example.com:443/consulting"
    settings.CORS_ALLOWED_ORIGINS = ["https://partner.example.com:8443"]


@pytest.fixture
def token(ada):
    return str(tokens.issue_pair(ada)[1])


def refresh(cookies, body=None, **headers):
    return API(cookie=cookies, **headers).post("/auth/refresh", body)


@pytest.mark.parametrize(
    "cookies",
    ["service_refresh={0}; service_refresh={1}", "service_refresh={1};service_refresh={0}",
     "service_refresh={0}; a=b;  service_refresh ={0}", "service_refresh={0}; service_refresh",
     *[f"service_refresh={{0}}; {name}={{1}}" for space in SPACES
       for name in (f"{space}service_refresh", f"service_refresh{space}")]],
)  # fmt: skip
def test_planted_second_refresh_cookie_signs_nobody_in(token, eve, cookies):
    answer = refresh(cookies.format(token, tokens.issue_pair(eve)[1]))

    assert (answer.status_code, "access_token" in answer.json()) == (401, False)
    assert answer.cookies["service_refresh"]["max-age"] == 0


def test_cookies_of_other_names_do_not_hinder_a_refresh(token):
    assert refresh(f"a=1; a=2; xservice_refresh=1; service_refresh={token}; ; ;").status_code == 200


@pytest.mark.parametrize("origin", FOREIGN)
def test_cookie_of_a_foreign_page_is_neither_read_nor_cleared(token, origin):
    for value in (token, "nonsense"):
        answer = refresh(f"service_refresh={value}", origin=origin)

        assert answer.status_code == 401
        assert not answer.cookies


@pytest.mark.parametrize("origin", FOREIGN)
def test_foreign_page_clears_no_cookie_by_logging_out(ada, origin):
    for path in ("/auth/logout", "/auth/logout-everywhere"):
        answer = bearer(ada).post(path, headers={"origin": origin})

        assert (answer.status_code, len(answer.cookies)) == (204, 0)
        headers = {"origin": origin, "cookie": "service_refresh=x"}
        answer = API().post(path, headers=headers)
        assert (answer.status_code, len(answer.cookies)) == (401, 0)


@pytest.mark.parametrize("origin", OURS)
def test_cookie_of_our_own_pages_is_read_and_renewed(token, origin):
    answer = refresh(f"service_refresh={token}", origin=origin)

    assert answer.status_code == 200
    assert answer.cookies["service_refresh"]["max-age"] > 0


@pytest.mark.parametrize(
    ("cookies", "headers"),
    [("service_refresh=a; service_refresh=b", {}),
     ("service_refresh=x", {"origin": "https://evil.test"})],
)  # fmt: skip
def test_refresh_token_in_the_body_works_beside_planted_and_foreign_cookies(
    token, cookies, headers
):
    answer = refresh(cookies, {"refresh_token": token}, **headers)

    assert (answer.status_code, len(answer.cookies)) == (200, 0)


def test_own_host_over_the_other_scheme_is_foreign(rf):
    assert is_foreign(rf.get("/", headers={"origin": "https://testserver"}))
    assert not is_foreign(rf.get("/", headers={"origin": "https://testserver"}, secure=True))


def test_unknown_host_does_not_make_an_origin_trusted(rf, settings):
    settings.ALLOWED_HOSTS = ["api.example.com"]
    headers = {"origin": "http://evil.test", "host": "evil.test"}

    assert is_foreign(rf.get("/", headers=headers))


@pytest.mark.parametrize(
    ("url", "origin"),
    [("http://127.0.0.1:80", "http://127.0.0.1"), ("https://[::1]:8443/x", "https://[::1]:8443"),
     ("http://a.test:443", "http://a.test:443"), ("https://A.test:0443", "https://a.test"),
     ("https://a.test:", "https://a.test"), ("https://[::1]:00443", "https://[::1]")],
)  # fmt: skip
def test_origin_is_written_as_browsers_do(url, origin):
    assert web_origin(url) == origin


def test_planted_admin_cookie_signs_nobody_in_and_is_cleared(operator):
    session = operator.cookies["sessionid"].value
    cookies = f"sessionid=planted; sessionid={session}"

    answer = Client().get("/admin/", headers={"cookie": cookies})

    assert answer.status_code == 302
    assert answer.cookies["sessionid"]["max-age"] == 0


@pytest.mark.parametrize("path", ["/admin/", "/admin/login/"])
def test_admin_cookie_with_a_nul_counts_as_missing(path):
    answer = Client().get(path, headers={"cookie": r'sessionid="\000planted"'})

    assert answer.status_code == (302 if path == "/admin/" else 200)
    assert answer.cookies["sessionid"]["max-age"] == 0


@pytest.mark.parametrize("origin", FOREIGN)
def test_admin_cookie_of_a_foreign_page_is_neither_read_nor_cleared(operator, origin):
    answer = operator.get("/admin/", headers={"origin": origin})

    assert answer.status_code == 302
    assert "sessionid" not in answer.cookies
    assert operator.get("/admin/").status_code == 200
