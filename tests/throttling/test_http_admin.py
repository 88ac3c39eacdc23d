"""The admin site's log-in form: one count with the API's calls, and the same lockout."""

import pytest
from django.test import Client

from accounts.models import User
from audit.models import AuditEvent
from tests.cast import PASSWORD
from tests.clients import API, TOO_MANY_ATTEMPTS
from tests.throttling.conftest import limits
from tests.throttling.helpers import fail

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis", "quick_passwords")]


@pytest.fixture
def root(ada):
    """Ada as an operator."""
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    return User.objects.get(pk=ada.pk)


def log_in(email="ada@example.com", password=PASSWORD, **options):
    client = options.pop("client", None) or Client()
    form = {"username": email, "password": password}
    return client.post("/admin/login/?next=/admin/", form, **options)


def guess(times, email="ada@example.com"):
    return [log_in(email, "wrong password").status_code for _ in range(times)]


def page(answer):
    """The answer's content, cookies and headers, without the request's random id."""
    headers = [header for header in answer.items() if header[0] != "X-Request-ID"]
    return answer.content, answer.cookies.output(), headers


def test_admin_log_in_opens_a_session(root, client):
    answer = log_in(" ADA@example.com ", client=client)

    assert (answer.status_code, answer["Location"]) == (302, "/admin/")
    assert client.get("/admin/").status_code == 200
    assert answer.cookies["sessionid"]["httponly"]


def test_admin_log_in_and_api_share_one_count(root):
    for _ in range(5):
        log_in()
        API().post("/auth/signup", {})

    answer = API().post("/auth/login", {})
    assert (answer.status_code, answer.json()) == (429, TOO_MANY_ATTEMPTS)
    assert log_in().status_code == 429


def test_refused_admin_log_in_is_a_page(root, settings):
    settings.RATE_LIMIT_CREDENTIAL = 1
    log_in()
    answer = log_in()

    assert answer.status_code == 429
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    assert b"Wait 60 seconds, then try again." in answer.content
    assert limits(answer) == {"retry-after": "60"}


@pytest.mark.parametrize("method", ["get", "head", "options", "put"])
def test_views_of_the_log_in_form_are_counted_in_the_public_tier(client, redis, settings, method):
    settings.RATE_LIMIT_PUBLIC = 2
    answers = [getattr(client, method)("/admin/login/") for _ in range(3)]

    assert [answer.status_code == 429 for answer in answers] == [False, False, True]
    assert limits(answers[1])["x-ratelimit-remaining"] == "0"
    assert limits(answers[2]) == {"retry-after": "60", "x-ratelimit-remaining": "0"}
    assert redis.keys("throttle:*") == [b"throttle:public:127.0.0.1"]


def test_every_admin_page_is_counted_with_any_session(settings):
    settings.RATE_LIMIT_PUBLIC = 3
    client = Client(headers={"cookie": f"sessionid={'x' * 32}"})
    answers = [client.get(f"/admin/{path}") for path in ("", "nothing/", "jsi18n/")]
    answers += [client.get("/admin/accounts/user/"), client.get("/admin")]

    window = {"x-ratelimit-limit": "3", "x-ratelimit-reset": "60"}
    assert [limits(answer) for answer in answers[:3]] == [
        window | {"x-ratelimit-remaining": remaining} for remaining in "210"
    ]
    assert [answer.status_code for answer in answers] == [302, 302, 302, 429, 429]
    assert limits(answers[-1]) == {"retry-after": "60", "x-ratelimit-remaining": "0"}


def test_admin_session_outlives_a_throttle_and_a_lock(root, client, settings):
    log_in(client=client)
    settings.RATE_LIMIT_CREDENTIAL = 0
    fail(5, root.email)

    assert client.get("/admin/").status_code == 200


def test_failures_in_the_api_and_the_admin_site_add_up(root):
    assert guess(3) == [200] * 3
    body = {"email": "ada@example.com", "password": "wrong password"}
    statuses = [API().post("/auth/login", body).status_code for _ in range(3)]

    assert statuses == [401, 401, 429]
    assert log_in(REMOTE_ADDR="198.51.100.7").status_code == 429


@pytest.mark.parametrize("email", ["ada@example.com", "nobody@example.com"])
@pytest.mark.parametrize("password", [PASSWORD, "wrong password"])
@pytest.mark.parametrize("cookie", ["", "sessionid=unknown"])
def test_lock_and_throttle_are_the_same_page(root, redis, email, password, cookie):
    fail(5, email)
    for _ in range(5):  # until no second begins between the two, which then name the same wait
        redis.set("throttle:credential:127.0.0.1", 1, px=57_000)
        locked = log_in(email, password, HTTP_COOKIE=cookie)
        redis.set("throttle:credential:127.0.0.1", 10, px=57_000)
        throttled = log_in(email, password, HTTP_COOKIE=cookie)
        if limits(locked) == limits(throttled):
            break

    assert locked.status_code == throttled.status_code == 429
    assert page(locked) == page(throttled)
    assert limits(locked).keys() == {"retry-after"}
    assert 10 < int(limits(locked)["retry-after"]) <= 57


def test_admin_log_in_of_a_user_without_staff_rights_is_refused_like_a_guess(ada, client):
    right, wrong = log_in(client=client), log_in(password="wrong password")

    assert right.status_code == wrong.status_code == 200
    errors = [answer.context["form"].errors.get_json_data() for answer in (right, wrong)]
    assert errors[0] == errors[1]
    assert "sessionid" not in client.cookies
    assert {record.kind for record in AuditEvent.objects.all()} == {"login.failed"}
    assert AuditEvent.objects.get(actor_id=ada.pk).detail == {"reason": "not staff"}


@pytest.mark.parametrize(
    ("path", "tier", "remaining"),
    [
        ("login/", "credential", "9"),
        ("", "public", "299"),
        ("nothing", "public", "299"),
        ("accounts/user/", "public", "299"),
        ("logout/", "public", "299"),
    ],
)
def test_admin_form_without_csrf_token_is_refused_but_counted(root, redis, path, tier, remaining):
    answer = Client(enforce_csrf_checks=True).post(f"/admin/{path}", {"username": root.email})

    assert answer.status_code == 403
    assert b"This page has expired" in answer.content
    assert limits(answer)["x-ratelimit-remaining"] == remaining
    assert redis.keys("throttle:*") == [f"throttle:{tier}:127.0.0.1".encode()]


@pytest.mark.parametrize("path", ["/admin/", "/admin/accounts/user/", "/admin/login/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_refused_admin_request_takes_no_query(root, client, settings, costs, path, method):
    client.force_login(root)
    settings.RATE_LIMIT_PUBLIC = settings.RATE_LIMIT_CREDENTIAL = 0

    assert costs(lambda: getattr(client, method)(path)) == (429, 0, 1)
