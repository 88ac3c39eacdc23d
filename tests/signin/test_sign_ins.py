"""The mail about the first sign-in with a browser, and GET /auth/sign-ins."""

from datetime import timedelta
from functools import partial

import pytest
from django.core import mail
from django.utils import timezone

from accounts.models import User
from assistants.models import Client
from audit.models import AuditEvent, Kind
from mail.budget import MailBudget
from mail.outbox import OutgoingMail
from signin.browsers import BROWSER_COOKIE, MAX_EVENTS
from tests.assistants.conftest import REDIRECT, Person, authorization_query
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.passwords.conftest import new_token, redeem
from tests.races import race
from tests.signin.factors.helpers import log_in, with_passkey
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Safari/537.36"
)
EDGE = f"{CHROME} Edg/140.0.0.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)


@pytest.fixture
def bob(bob):
    """Bob, who has signed in before."""
    User.objects.filter(pk=bob.pk).update(last_sign_in_at=timezone.now())
    return User.objects.get(pk=bob.pk)


def browser(agent=CHROME, address="203.0.113.7"):
    api = API(user_agent=agent)
    api.client.defaults["REMOTE_ADDR"] = address
    return api


def on_a_journey(api):
    """The browser at an address that only its cookie makes known."""
    api.client.defaults["REMOTE_ADDR"] = "198.51.100.99"
    return api


def notices():
    return list(OutgoingMail.objects.filter(kind="notice.new_sign_in").values_list("email", flat=1))


def forget_mails():
    """As after a day."""
    OutgoingMail.objects.all().delete()
    MailBudget.objects.all().delete()


def test_first_sign_in_with_a_browser_is_mailed_and_the_next_is_not(bob):
    laptop = browser()
    assert log_in(laptop, bob)[0] == 200
    assert notices() == [bob.email]
    cookie = laptop.cookies[BROWSER_COOKIE]
    assert (cookie["httponly"], cookie["secure"], cookie["path"]) == (True, True, "/")
    assert cookie["samesite"] == "Lax"
    assert str(bob.pk) not in cookie.value
    forget_mails()

    log_in(on_a_journey(laptop), bob)

    assert notices() == []


@pytest.mark.parametrize(
    ("agent", "name"),
    [(CHROME, "Chrome on Windows"), (EDGE, "Edge on Windows"), (SAFARI, "Safari on iOS")],
)
def test_mail_names_the_browser_and_the_time(bob, agent, name):
    log_in(browser(agent), bob)
    Worker().work_round()

    message = mail.outbox[-1]
    assert message.to == [bob.email]
    assert message.subject.startswith(f"New sign-in from {name}, ")
    assert message.subject.endswith(" UTC")
    assert f"{name} · 203.0.113.7" in message.body


def test_first_sign_in_of_an_account_is_not_mailed(bob):
    User.objects.update(last_sign_in_at=None)

    log_in(browser(), bob)

    assert notices() == []


def test_browser_without_the_cookie_is_known_at_its_address_alone(bob):
    log_in(browser(), bob)
    forget_mails()

    log_in(browser(), bob)
    assert notices() == []
    log_in(browser(address="198.51.100.4"), bob)
    assert notices() == [bob.email]
    forget_mails()
    log_in(browser(SAFARI), bob)
    assert notices() == [bob.email]


def test_cookie_of_another_user_is_of_no_use(bob, ada):
    laptop = browser()
    log_in(laptop, ada)

    log_in(laptop, bob)

    assert notices() == [bob.email]
    forget_mails()
    log_in(on_a_journey(laptop), bob)
    log_in(laptop, ada)
    assert notices() == []


@pytest.mark.parametrize("cookie", ["", "x", "....", "\x00", "é", "a" * 5000])
def test_made_up_cookie_is_a_new_browser(bob, cookie):
    stranger = browser()
    stranger.headers["cookie"] = f"{BROWSER_COOKIE}={cookie}"

    log_in(stranger, bob)

    assert notices() == [bob.email]


def test_marks_outlive_a_rotation_of_the_secret_key(bob, settings):
    laptop = browser()
    log_in(laptop, bob)
    forget_mails()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret key that is long enough to be one"

    log_in(on_a_journey(laptop), bob)

    assert notices() == []


def test_only_one_mail_a_day(bob, time_machine):
    for number in range(3):
        log_in(browser(address=f"203.0.113.{number}"), bob)
    assert notices() == [bob.email]

    time_machine.move_to(timezone.now() + timedelta(days=1, minutes=1))
    log_in(browser(address="203.0.113.9"), bob)

    assert notices() == [bob.email] * 2


@pytest.mark.django_db(transaction=True)
def test_parallel_sign_ins_are_mailed_once(bob):
    calls = [partial(log_in, browser(address=f"203.0.113.{n}"), bob) for n in range(4)]

    race(*calls)

    assert notices() == [bob.email]


def test_user_switches_the_mails_off(bob):
    session = bearer(bob)
    assert session.get("/auth/sign-ins").json() == {"items": [], "mails": True}
    assert session.patch("/auth/sign-ins", {"mails": False}).json()["mails"] is False

    log_in(browser(), bob)

    assert notices() == []
    assert session.patch("/auth/sign-ins", {"mails": "no"}).status_code == 400
    event = AuditEvent.objects.get(kind=Kind.PROFILE_CHANGED)
    assert event.detail == {"fields": ["sign_in_mails"]}


def test_refused_sign_in_sets_no_cookie_and_mails_nothing(bob):
    stranger = browser()

    assert log_in(stranger, bob, "a wrong guess")[0] == 401

    assert BROWSER_COOKIE not in stranger.cookies
    assert notices() == []


def test_refused_sign_in_makes_no_browser_known(bob, settings):
    settings.STAFF_SECOND_FACTOR = False
    laptop, form = browser(), {"username": bob.email, "password": PASSWORD}

    answer = laptop.client.post("/admin/login/", form, headers=laptop.headers)  # bob isn't staff

    assert (answer.status_code, BROWSER_COOKIE in laptop.cookies) == (200, False)
    assert AuditEvent.objects.get(kind=Kind.LOGIN_FAILED).actor_id == bob.pk
    log_in(laptop, bob)
    assert notices() == [bob.email]


def test_new_password_by_link_has_its_own_mail_and_marks_the_browser(bob):
    laptop = browser()

    redeem(laptop, new_token(bob))

    assert notices() == []
    log_in(on_a_journey(laptop), bob)
    assert notices() == []


def by_password(api, user):
    return log_in(api, user)[0] == 200


def by_passkey(api, user):
    key = with_passkey(user)
    options = api.post("/auth/passkeys/options", {}).json()
    forget_mails()
    answer = api.post("/auth/passkeys/login", {"credential": key.sign(options)})
    return answer.status_code == 200


def in_the_back_office(api, user):
    User.objects.filter(pk=user.pk).update(is_staff=True)
    form = {"username": user.email, "password": PASSWORD}
    answer = api.client.post("/admin/login/", form, headers=api.headers)
    return answer.status_code == 302


def on_the_consent_page(api, user):
    client = Client.objects.create(name="Testbench", redirect_uris=[REDIRECT])
    person = Person(authorization_query(client))
    answer = person.sign_in(user.email)
    api.client.cookies = person.browser.cookies
    return answer.status_code == 200


WAYS = [by_password, by_passkey, in_the_back_office, on_the_consent_page]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_mails_and_remembers(bob, settings, way):
    settings.STAFF_SECOND_FACTOR = False
    laptop = browser()

    assert way(laptop, bob)

    assert notices() == [bob.email]
    assert BROWSER_COOKIE in laptop.cookies


def test_list_has_the_newest_sign_ins_of_every_kind(api, bob, ada):
    log_in(browser(SAFARI, "2001:db8::5"), bob)
    log_in(browser(), ada)
    forget_mails()
    token = redeem(browser(EDGE), new_token(bob)).json()["access_token"]
    session = API(authorization=f"Bearer {token}")
    session.post("/auth/password", {"password": "a brand new password", "new_password": PASSWORD})

    items = bearer(bob).get("/auth/sign-ins").json()["items"]

    names = ("browser", "system", "network", "way")
    assert [tuple(item[name] for name in names) for item in items] == [
        ("Edge", "Windows", "203.0.113.0/24", "link"),
        ("Safari", "iOS", "2001:db8::/64", "password"),
    ]


def test_list_is_short_and_its_query_reads_few_events(bob, django_assert_num_queries):
    events = [AuditEvent(kind=Kind.LOGIN_SUCCEEDED, actor_id=bob.pk) for _ in range(MAX_EVENTS)]
    AuditEvent.objects.bulk_create(events)
    session = bearer(bob)

    with django_assert_num_queries(2):
        items = session.get("/auth/sign-ins").json()["items"]

    assert len(items) == 10
