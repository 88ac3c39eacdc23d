"""The built-in pages: limits, headers, links and languages."""

import re

import pytest
from django.template.loader import render_to_string

from mail.links import EmailedLink
from pages.urls import PAGE_NAMES
from tests.requests import ask

PATHS = ["/", "/docs", *(f"/{name}" for name in PAGE_NAMES)]


@pytest.mark.parametrize("path", PATHS)
def test_page_is_counted_and_guarded_and_has_no_inline_script_or_style(api, path):
    response = api.get(path)

    assert response.status_code == 200
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert "x-ratelimit-remaining" in response.headers
    policy = response["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    page = response.content.decode()
    inline_code = re.findall(r"<style| style=|<script(?![^>]* src=)", page)
    assert not inline_code, (
        "the pages' policy allows no inline script or style: use a file in static/"
    )


def test_page_over_the_limit_names_the_wait(api, settings):
    settings.RATE_LIMIT_PUBLIC = 1
    api.get("/login")

    response = api.get("/login")

    assert response.status_code == 429
    assert "Too many requests" in response.content.decode()
    assert response["Retry-After"] in response.content.decode()
    assert response["x-ratelimit-remaining"] == "0"


PAGES_WITH_FRAGMENT = [*(kind.page for kind in EmailedLink.models_by_label().values()), "sso"]


@pytest.mark.parametrize("page", PAGES_WITH_FRAGMENT)
@pytest.mark.parametrize(
    "encoded", ["%23token=a-_b&x=1", "%2523token=a-_b&x=1", "%2523token%253Da-_b%2526x%253D1"]
)
def test_path_with_an_encoded_fragment_redirects_to_the_page(api, page, encoded):
    response = api.get(f"/{page}{encoded}?utm=1")

    assert (response.status_code, response["Location"]) == (302, f"/{page}#token=a-_b&x=1")
    assert (response["Cache-Control"], response["Referrer-Policy"]) == ("no-store", "no-referrer")
    assert "x-ratelimit-remaining" in response.headers


def test_encoded_fragment_redirects_to_no_other_host_and_sets_no_header(api):
    for fragment in ("//evil.example", "%250d%250aSet-Cookie:a=b", "%23@evil.example"):
        response = api.get(f"/login%23{fragment}")
        assert response["Location"].startswith("/login#")
        assert response.cookies.keys() == set()


def test_error_page_sends_no_referrer(api):
    response = api.get("/nowhere%23token=secret", headers={"accept": "text/html"})

    assert (response.status_code, response["Referrer-Policy"]) == (404, "no-referrer")


def test_post_to_a_page_is_405_and_a_page(api):
    response = api.post("/login", {})

    assert response.status_code == 405
    assert response["Content-Type"].startswith("text/html")
    assert response["Allow"] == "GET, HEAD"


def test_no_form_can_put_a_password_into_an_address(api):
    for path in PATHS:
        page = api.get(path).content.decode()

        forms = re.findall(
            r"<form [^>]*>\s*(?:<h1.*</h1>\s*)?(?:<p.*</p>\s*)?<fieldset disabled", page
        )
        assert page.count("<form method=") == page.count("<form ")
        assert page.count('<form method="post"') == len(forms)


@pytest.mark.parametrize(
    ("headers", "heading"),
    [
        ({}, "Sign in"),
        ({"accept-language": "de-AT,de;q=0.9"}, "Anmelden"),
        ({"accept-language": "de", "cookie": "django_language=sv"}, "Logga in"),
        ({"accept-language": "fr"}, "Sign in"),
    ],
)
def test_page_has_the_language_of_the_cookie_or_browser(api, headers, heading):
    assert (
        f'<h1 tabindex="-1">{heading}</h1>' in api.get("/login", headers=headers).content.decode()
    )


LINKS = {name: f"https://www.example.com/{name}" for name in ("terms", "privacy", "imprint")}


@pytest.mark.parametrize("path", [*PATHS, "/login/", "/login/nothing"])
def test_page_links_to_the_operators_pages(api, settings, path):
    settings.LINKS = LINKS
    page = api.get(path, headers={"accept": "text/html"}).content.decode()
    settings.LINKS = {}
    page_without_links = api.get(path, headers={"accept": "text/html"}).content.decode()

    assert [f'href="{url}"' in page for url in LINKS.values()] == [True] * 3
    assert "Help" not in page
    assert "About this service" not in page_without_links


@pytest.mark.parametrize(("seconds", "text"), [(900, "15 minutes if"), (1790, "30 minutes if")])
def test_pages_name_the_minutes_of_a_lockout(api, settings, seconds, text):
    settings.LOCKOUT_SECONDS = seconds

    page = api.get("/login").content.decode()

    assert text in page
    assert "{lock}" not in page


def test_https_page_sends_hsts(new_service):
    service = new_service(TRUSTED_PROXY_COUNT="1").start()

    answer = ask(service.url, "GET", "/docs", X_Forwarded_Proto="https")

    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_pages_are_404_with_a_front_end_elsewhere(new_service):
    service = new_service(FRONTEND_URL="https://app.example.com").start()
    paths = ["/login", "/", "/login/", "/pages/link", "/.well-known/change-password"]
    answers = [ask(service.url, "GET", path, Accept="text/html") for path in [*paths, "/nope"]]

    answer_types = {(answer.status, answer.headers["Content-Type"]) for answer in answers}
    assert answer_types == {(404, "application/json")}
    assert ask(service.url, "GET", "/docs").status == 200


def test_password_field_has_a_longest_password_by_default():
    field = render_to_string("pages/field.html", {"name": "password", "type": "password"})

    assert 'data-most="256"' in field
