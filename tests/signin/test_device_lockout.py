"""DEVICE_LOCKOUT: failures on unknown devices lock only those, and tell nothing about addresses."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from audit.models import AuditEvent
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.cookies import MAX_USERS
from signin.devices import DEVICE_COOKIE, Device
from signin.models import UnlockLink
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.races import race
from tests.signin.factors.helpers import challenge, code, with_app, with_passkey, wrong_code
from throttling.models import MOST_DEVICES, Lockout
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
VARYING = {"Date", "X-Request-ID", "Set-Cookie"}  # and what the window's clock says
VARYING |= {"x-ratelimit-remaining", "x-ratelimit-reset", "Retry-After"}
VARIES = re.compile(r'"s\d+_x\d+"')  # savepoints' names


@pytest.fixture(autouse=True)
def device_lockout(settings):
    settings.DEVICE_LOCKOUT = True


def log_in(client, email, password=PASSWORD):
    return client.post("/auth/login", {"email": email, "password": password})


def guess(email, times=5, client=None):
    """The answers to so many guesses: each in a browser of its own, or all in one."""
    return [log_in(client or API(), email, "a wrong guess").status_code for _ in range(times)]


@pytest.fixture
def known_browser(ada):
    """Ada's browser."""
    client = API()
    assert log_in(client, ada.email).status_code == 200
    return client


def device(client):
    return client.cookies[DEVICE_COOKIE].value


def visible_parts(answer):
    headers = {name: name in VARYING or value for name, value in answer.headers.items()}
    return answer.status_code, answer.content, headers, DEVICE_COOKIE in answer.cookies


class TestKnownDevices:
    def test_device_cookie_is_for_http_alone_and_names_nobody(self, known_browser, ada):
        cookie = known_browser.cookies[DEVICE_COOKIE]

        assert (cookie["httponly"], cookie["path"], cookie["samesite"]) == (True, "/", "Lax")
        assert cookie["max-age"] == 180 * 86400
        assert not re.search(f"ada|{ada.pk}|{ada.pk.hex}", cookie.value)

    def test_owner_gets_in_while_strangers_are_locked_out(self, known_browser, ada):
        assert guess(ada.email, 6) == [401] * 5 + [429]

        assert log_in(known_browser, ada.email).status_code == 200
        assert known_browser.post("/auth/refresh").status_code == 200
        assert log_in(API(), ada.email).status_code == 429

    def test_owner_changes_the_password_while_strangers_are_locked_out(self, known_browser, ada):
        link = PasswordChange.objects.create(user=ada, email=ada.email)
        guess(ada.email)
        body = {"token": link.token, "password": "a new password"}

        assert API().post("/password-changes/redeem", body).status_code == 429
        assert known_browser.post("/password-changes/redeem", body).status_code == 200
        assert log_in(known_browser, ada.email, "a new password").status_code == 200

    def test_device_that_fails_is_locked_by_itself(self, known_browser, ada):
        assert guess(ada.email, 6, known_browser) == [401] * 5 + [429]

        assert known_browser.post("/auth/refresh").status_code == 429
        assert log_in(known_browser, ada.email).status_code == 429
        assert log_in(API(), ada.email).status_code == 200

    def test_success_clears_its_own_record_only(self, known_browser, ada):
        log_in(known_browser, ada.email, "wrong")
        guess(ada.email, 3)
        log_in(known_browser, ada.email)

        assert list(Lockout.objects.values_list("device", "failures")) == [("", 3)]

    def test_parallel_guesses_of_a_device_are_bounded(self, transactional_db, ada):
        client = API()
        log_in(client, ada.email)
        cookie = f"{DEVICE_COOKIE}={device(client)}"
        calls = [API(cookie=cookie) for _ in range(12)]

        answers = race(*[lambda c=c: log_in(c, ada.email, "wrong").status_code for c in calls])

        assert sorted(answers) == [401] * 5 + [429] * 7

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda value: value[:-4] + ("AAAA" if value[-4:] != "AAAA" else "BBBB"),
            lambda value: "",
            lambda value: "é",
            lambda value: "." * 4000,
            lambda value: Device.objects.get().digest,
        ],
    )
    def test_forged_device_cookie_makes_an_unknown_device(self, known_browser, ada, spoil):
        guess(ada.email)
        forger = API(
            cookie=f"{DEVICE_COOKIE}={spoil(device(known_browser))}".encode().decode("latin-1")
        )

        assert log_in(forger, ada.email).status_code == 429

    def test_device_cookie_of_another_address_makes_an_unknown_device(self, ada, eve):
        client = API()
        log_in(client, eve.email)
        guess(ada.email)

        assert log_in(client, ada.email).status_code == 429

    def test_device_is_forgotten_180_days_after_the_last_sign_in(
        self, known_browser, ada, time_machine
    ):
        time_machine.move_to(timezone.now(), tick=False)
        time_machine.shift(timedelta(days=179))
        log_in(known_browser, ada.email)
        time_machine.shift(timedelta(days=179))
        guess(ada.email)
        assert log_in(known_browser, ada.email).status_code == 200
        time_machine.shift(timedelta(days=180))
        guess(ada.email)

        assert log_in(known_browser, ada.email).status_code == 429
        with CaptureQueriesContext(connection) as queries:
            assert Device.objects.prune_expired() == 1
        assert 'NOT ("signin_device"."id" IN' not in str(queries.captured_queries)
        assert AuditEvent.objects.filter(kind="device.known").count() == 1

    def test_end_of_the_sessions_makes_devices_unknown(self, known_browser, ada, as_ada):
        as_ada.post("/auth/logout-everywhere")
        guess(ada.email)

        assert log_in(known_browser, ada.email).status_code == 429

    def test_planted_cookie_is_not_made_known(self, known_browser, ada, eve):
        """An attacker's cookie in a victim's browser makes the attacker's browser known to none."""
        victim = API(cookie=f"{DEVICE_COOKIE}={device(known_browser)}")
        log_in(victim, eve.email)
        guess(eve.email)

        assert log_in(known_browser, eve.email).status_code == 429

    def test_browser_stays_known_for_its_newest_five_users(self, new_user):
        people = [new_user(f"p{number}@example.com") for number in range(6)]
        client = API()
        for person in people:
            log_in(client, person.email)
        for person in people:
            guess(person.email)

        answers = [log_in(client, person.email).status_code for person in people]

        assert answers == [429] + [200] * 5

    def test_records_of_an_address_are_bounded(self, ada, bob):
        """Devices beyond the bound are locked as unknown ones."""
        clients = [API() for _ in range(MOST_DEVICES + 1)]
        for client in clients:
            log_in(client, ada.email)
        for client in clients:
            log_in(client, ada.email, "wrong")

        assert Lockout.objects.exclude(device="").count() == MOST_DEVICES
        assert guess(ada.email, 7, clients[-1]) == [401] * 4 + [429] * 3
        assert log_in(clients[-1], ada.email).status_code == 429
        assert log_in(clients[0], ada.email).status_code == 200
        log_in(clients[0], bob.email)
        log_in(clients[0], bob.email, "wrong")
        assert Lockout.objects.exclude(device="").filter(email=bob.email).exists()

    def test_device_cookie_from_a_foreign_page_or_sent_twice_is_ignored(self, known_browser, ada):
        guess(ada.email)
        cookie = f"{DEVICE_COOKIE}={device(known_browser)}"
        foreign = API(cookie=cookie, origin="https://evil.test")

        assert log_in(foreign, ada.email).status_code == 429
        assert log_in(API(cookie=f"{cookie}; {cookie}"), ada.email).status_code == 429

    def test_admin_site_knows_devices_too(self, client, operator):
        form = {"username": "op@example.com", "password": "an operator's"}
        first = client.post("/admin/login/", form)
        client.post("/admin/logout/")
        guess("op@example.com")
        again = client.post("/admin/login/", form)

        assert DEVICE_COOKIE in first.cookies
        assert again.status_code == 302


class TestForgetting:
    def test_user_sees_their_own_devices(self, ada, eve):
        firefox = API(user_agent="Mozilla/5.0 (Windows NT 10.0; rv:130.0) Firefox/130.0")
        for person in (ada, eve):
            log_in(firefox, person.email)
        log_in(API(), ada.email)
        headers = bearer(ada).headers
        items = firefox.get("/auth/devices", headers=headers).json()["items"]

        assert [(item["name"], item["current"]) for item in items] == [
            ("", False),
            ("Firefox, Windows", True),
        ]
        assert {*items[0]} == {"id", "name", "network", "created_at", "used_at", "current"}
        assert {item["network"] for item in items} == {"127.0.0.0/24"}

    def test_forgotten_device_is_unknown(self, known_browser, ada, as_ada):
        [item] = as_ada.get("/auth/devices").json()["items"]

        assert as_ada.delete(f"/auth/devices/{item['id']}").status_code == 204
        assert as_ada.delete(f"/auth/devices/{item['id']}").status_code == 404
        assert as_ada.get("/auth/devices").json()["items"] == []
        assert AuditEvent.objects.get(kind="device.forgotten").actor_id == ada.pk
        guess(ada.email)
        assert log_in(known_browser, ada.email).status_code == 429

    def test_device_of_another_user_is_not_found(self, known_browser, eve):
        assert bearer(eve).delete(f"/auth/devices/{Device.objects.get().pk}").status_code == 404
        assert Device.objects.exists()

    def test_parallel_calls_forget_once(self, transactional_db, ada):
        log_in(API(), ada.email)
        path, caller = f"/auth/devices/{Device.objects.get().pk}", bearer(ada)
        codes = race(*[lambda: caller.delete(path).status_code] * 4)

        assert {*codes} <= {204, 404}
        assert AuditEvent.objects.filter(kind="device.forgotten").count() == 1


class TestUnlockByMail:
    @pytest.fixture
    def link(self, ada):
        guess(ada.email)
        Worker().work_round()
        return UnlockLink.objects.get()

    def test_unlock_mail_says_what_happened_and_unlocks(self, link, ada):
        message, browser = mail.outbox[-1], API()
        answer = browser.post("/lockouts/redeem", {"token": link.token})

        assert message.to == [ada.email]
        assert "5 times" in message.body
        assert "127.0.0.0/24" in message.body
        end = link.locked_at + timedelta(minutes=15)
        assert f"with a password until {end:%-d %B %Y, %H:%M} UTC." in message.body
        assert link.url in message.body
        assert (answer.status_code, answer.content) == (204, b"")
        assert log_in(browser, ada.email).status_code == 200
        assert AuditEvent.objects.filter(kind="lock.mailed", subject=ada.email).exists()

    def test_unlock_link_makes_the_browser_known_signs_nobody_in_and_works_once(self, link, ada):
        browser = API()
        browser.post("/lockouts/redeem", {"token": link.token})
        again = API().post("/lockouts/redeem", {"token": link.token})

        assert "service_refresh" not in browser.cookies
        assert (again.status_code, again.json()) == (400, {"error": "invalid or expired token"})
        guess(ada.email)
        assert log_in(browser, ada.email).status_code == 200

    def test_locks_of_devices_stay(self, known_browser, ada, link):
        guess(ada.email, client=known_browser)
        API().post("/lockouts/redeem", {"token": link.token})

        assert log_in(known_browser, ada.email).status_code == 429

    def test_unlock_mail_is_sent_once_an_hour(self, ada, settings, time_machine):
        settings.LOCKOUT_SECONDS = 60
        time_machine.move_to(timezone.now(), tick=False)
        for _ in range(3):
            guess(ada.email)
            time_machine.shift(61)
        Worker().work_round()

        assert [message.to for message in mail.outbox] == [[ada.email]]

    def test_unlock_link_of_a_deactivated_user_is_refused(self, link, ada):
        User.objects.filter(pk=ada.pk).update(is_active=False)

        assert API().post("/lockouts/redeem", {"token": link.token}).status_code == 400


class TestNoOracle:
    @pytest.mark.parametrize(
        "headers", [{}, {"cookie": f"{DEVICE_COOKIE}={'.'.join(map(str, range(MAX_USERS)))}"}]
    )
    def test_unknown_address_has_the_same_answers_and_queries(self, ada, headers):
        answers = {}
        for email in (ada.email, "nobody@example.com"):
            answers[email] = []
            for _ in range(6):
                with CaptureQueriesContext(connection) as queries:
                    answer = log_in(API(**headers), email, "a wrong guess")
                statements = [VARIES.sub("", query["sql"])[:40] for query in queries]
                answers[email].append((visible_parts(answer), statements))

        for registered, unknown in zip(
            answers[ada.email], answers["nobody@example.com"], strict=True
        ):
            assert registered == unknown

    def test_unknown_address_and_inactive_user_get_no_mail(self, ada):
        User.objects.filter(pk=ada.pk).update(is_active=False)
        for email in (ada.email, "nobody@example.com"):
            guess(email)
        Worker().work_round()

        assert mail.outbox == []
        assert {queued.state for queued in OutgoingMail.objects.all()} == {"dropped"}

    def test_refusals_of_strangers_and_devices_are_the_same(self, known_browser, ada):
        guess(ada.email)
        guess(ada.email, client=known_browser)

        assert visible_parts(log_in(known_browser, ada.email)) == visible_parts(
            log_in(API(), ada.email)
        )

    def test_no_cookie_is_set_on_a_failure(self, known_browser, ada):
        answers = [log_in(known_browser, ada.email, "wrong") for _ in range(6)]

        assert all(DEVICE_COOKIE not in answer.cookies for answer in answers)


class TestSecondFactors:
    @pytest.fixture
    def known_browser(self, ada):
        """A browser in which Ada has signed in with her app."""
        with_app(ada)
        client = API()
        assert client.post("/auth/login", self.body(ada, code(-1))).status_code == 200
        return client

    def body(self, user, app_code):
        return {"email": user.email, "password": PASSWORD, "code": app_code}

    @pytest.mark.parametrize("guesser", ["a stranger", "the known browser"])
    def test_wrong_codes_lock_the_guessers_device_alone(self, known_browser, ada, guesser):
        clients = [API(), known_browser]
        guessing, other = clients if guesser == "a stranger" else clients[::-1]
        for _ in range(5):
            guessing.post("/auth/login", self.body(ada, wrong_code()))

        assert guessing.post("/auth/login", self.body(ada, code())).status_code == 429
        assert other.post("/auth/login", self.body(ada, code())).status_code == 200

    def test_right_password_without_the_code_makes_no_browser_known(self, ada):
        with_app(ada)

        assert DEVICE_COOKIE not in log_in(API(), ada.email).cookies

    def test_passkey_makes_the_browser_known(self, ada):
        key, client = with_passkey(ada), API()

        client.post("/auth/passkeys/login", {"credential": key.sign(challenge(client))})

        assert client.cookies[DEVICE_COOKIE].value


def test_without_device_lockout_devices_are_unknown_and_the_owner_is_mailed_all_the_same(
    settings, ada
):
    settings.DEVICE_LOCKOUT = False
    client = API()
    log_in(client, ada.email)
    guess(ada.email)
    Worker().work_round()

    assert DEVICE_COOKIE not in client.cookies
    assert log_in(client, ada.email).status_code == 429
    assert API().post("/lockouts/redeem", {"token": UnlockLink.objects.get().token}).cookies == {}
    assert log_in(client, ada.email).status_code == 200
