"""Notices: to whom they are sent, and that they say when and from where a change was made."""

import re
from datetime import UTC, datetime

import pytest
from django.core import mail

from accounts.models import Account, User
from base.caller import Caller, browser_and_system, current_caller
from mail.notices import Notice
from mail.outbox import OutgoingMail
from tests.cast import PASSWORD
from tests.mailbox import links_in, mailed, visible
from worker.rounds import Worker

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/1"
)


def test_notice_is_sent_in_its_language_with_when_and_from_where(db):
    token = current_caller.set(Caller("192.0.2.7", FIREFOX))
    OutgoingMail.objects.queue_notice(Notice("password_changed", "a@example.com", "de"))
    current_caller.reset(token)

    message = mailed()

    assert (message.to, message.subject) == (["a@example.com"], "Ihr Passwort wurde geändert")
    for body in (message.body, message.alternatives[0].content):
        assert " Uhr (UTC)" in body
        assert "Firefox unter Windows · 192.0.2.7" in body
        rest = re.sub("<h1.*?</h1>", "", body, flags=re.DOTALL)
        assert links_in(rest.replace("192.0.2.7", "")) == []


@pytest.mark.parametrize(
    ("name", "page"),
    [("password_changed", "profile#security"), ("api_key_made", "people#api-keys"),
     ("deactivated", None)],
)  # fmt: skip
def test_title_of_a_notice_links_to_the_page_that_it_speaks_of(db, settings, name, page):
    for settings.SERVES_PAGES in (True, False):
        OutgoingMail.objects.queue_notice(Notice(name, "a@example.com", "en"))
        message = mailed()
        (title,) = re.findall("<h1.*?</h1>", message.alternatives[0].content)
        url = f'href="{settings.FRONTEND_URL}/{page}"'
        assert (url in title) is bool(page and settings.SERVES_PAGES)
        assert ("href" in title) is bool(page and settings.SERVES_PAGES)
        assert message.subject in visible(title)


def test_thirty_notices_of_a_kind_are_sent_to_an_address_in_an_hour(as_ada, bob):
    for role in ["admin", "member"] * 16:
        assert as_ada.patch(f"/users/{bob.pk}", {"role": role}).status_code == 200

    assert OutgoingMail.objects.filter(email=bob.email, kind="notice.role_changed").count() == 30
    as_ada.patch(f"/users/{bob.pk}", {"is_active": False})
    assert OutgoingMail.objects.filter(email=bob.email, kind="notice.deactivated").exists()


def test_user_is_notified_of_the_reactivation(as_ada, bob):
    for active in (False, True):
        as_ada.patch(f"/users/{bob.pk}", {"is_active": active})
        Worker().work_round()

    assert [message.to for message in mail.outbox] == [[bob.email]] * 2
    assert mail.outbox[-1].subject == "Your account has been reactivated"
    assert "Ada Lovelace has reactivated your account." in mail.outbox[-1].body


def test_operator_is_not_named_to_a_customer(ada, bob):
    root = User.objects.create_superuser("root@example.com", "an operator's", first_name="Grace")
    bob.update_role_or_active(root, role="admin")

    assert not re.search("(?i)grace|root@", mailed().body)


def test_users_are_notified_when_their_company_requires_a_second_factor(ada, bob):
    User.objects.filter(pk=ada.pk).update(has_second_factor=True)
    User.objects.create_user("off@example.com", account=ada.account, is_active=False)
    for _ in range(4):
        for rule in ("required", "optional"):
            ada.account.change_second_factor(ada, rule)
    Worker().work_round()

    assert [message.to for message in mail.outbox] == [[bob.email]] * 3
    assert "Ada Lovelace has made two-factor authentication required" in mail.outbox[0].body


def test_notice_of_a_command_names_no_address(db):
    OutgoingMail.objects.queue_notice(Notice("password_changed", "a@example.com", "en"))

    assert "UTC\n" in mailed().body
    assert " · " not in mailed().body


def test_texts_in_a_notice_become_no_links():
    notice = Notice("x", "a@example.com", "en", {"a": "evil.test", "b": ["b@c.de"], "n": 3})

    assert links_in(str(notice.mail_context())) == []
    assert notice.mail_context()["n"] == 3


@pytest.mark.parametrize("path", ["/password-changes", "/auth/signup"])
def test_mail_of_a_link_says_when_and_from_where_it_was_requested(api, bob, path):
    email = bob.email if path == "/password-changes" else "new@example.com"
    api.post(path, {"email": email}, headers={"User-Agent": EDGE})

    message = mailed()
    for body in (message.body, message.alternatives[0].content):
        assert "Edge on Windows · 127.0.0.1" in visible(body)


@pytest.mark.parametrize(
    ("time_zone", "time"),
    [("", "14:05 UTC"), ("Europe/Berlin", "15:05 CET"), ("Asia/Kathmandu", "19:50 UTC+0545")],
)
def test_times_are_in_the_time_zone_of_the_recipients_company(bob, time_zone, time):
    Account.objects.update(time_zone=time_zone)
    OutgoingMail.objects.queue_notice(Notice("new_sign_in", bob.email, "en"))
    OutgoingMail.objects.update(created_at=datetime(2026, 11, 27, 14, 5, tzinfo=UTC))

    message = mailed()
    assert message.subject == f"New sign-in to your account, 27 November 2026, {time}"
    assert f"27 November 2026, {time}\n" in message.body


def test_link_to_a_new_address_has_the_time_zone_of_the_users_company(as_bob):
    Account.objects.update(time_zone="Asia/Tokyo")
    as_bob.post("/auth/email-changes", {"email": "robert@example.net", "password": PASSWORD})
    Worker().work_round()

    body = next(message.body for message in mail.outbox if message.to == ["robert@example.net"])
    assert " JST\n" in body


@pytest.mark.parametrize(
    ("agent", "names"),
    [(FIREFOX, ("Firefox", "Windows")), (EDGE, ("Edge", "Windows")), ("x <b>", ("", "")),
     ("Mozilla/5.0 (iPhone; CPU) CriOS/1 Safari/6", ("Chrome", "iOS")), ("", ("", ""))],
)  # fmt: skip
def test_browser_and_system_are_named_by_their_user_agent(agent, names):
    assert browser_and_system(agent) == [*names]
