"""POST /auth/signup."""

import re

import pytest
from django.core import mail

from mail.outbox import OutgoingMail
from signin.models import SignupLink
from worker.rounds import Worker

pytestmark = pytest.mark.django_db


def test_free_address_is_mailed_a_sign_up_link(api):
    api.post("/auth/signup", {"email": "new@example.com"})
    Worker().work_round()

    assert mail.outbox[0].to == ["new@example.com"]
    assert SignupLink.objects.get().url in mail.outbox[0].body


@pytest.mark.parametrize("proxies", [0, 1])
def test_forwarding_headers_lead_no_mailed_link_elsewhere(api, settings, proxies):
    settings.TRUSTED_PROXY_COUNT = proxies
    headers = {"x-forwarded-host": "evil.example", "forwarded": "host=evil.example;proto=http"}
    headers |= {"x-forwarded-port": "666", "x-forwarded-for": "203.0.113.1"}
    api.post("/auth/signup", {"email": "new@example.com"}, headers=headers)
    Worker().work_round()

    assert f"{settings.FRONTEND_URL}/complete-signup#token=" in mail.outbox[0].body
    assert "evil.example" not in str(mail.outbox[0].message())
    assert ":666" not in mail.outbox[0].body


def test_sign_up_of_a_registered_address_has_the_same_answer_and_no_mail(api, ada):
    free = api.post("/auth/signup", {"email": "new@example.com"})
    registered = api.post("/auth/signup", {"email": "ADA@example.com"})
    Worker().work_round()

    assert registered.status_code == free.status_code == 200
    assert registered.content == free.content
    assert set(registered.headers) == set(free.headers)
    assert [message.to for message in mail.outbox] == [["new@example.com"]]


def test_sign_up_takes_three_statements_and_looks_no_user_up(api, django_assert_num_queries):
    with django_assert_num_queries(3) as captured:
        api.post("/auth/signup", {"email": "new@example.com"})

    tables = [re.findall('(?:INTO|FROM) "?(\\w+)', query["sql"])[-1] for query in captured]
    assert set(tables) == {"mail_mailbudget", "mail_outgoingmail"}


@pytest.mark.parametrize(("accept", "subject"), [("de-AT,de;q=0.9", "de"), ("tlh", "en")])
def test_sign_up_mail_is_in_the_browsers_language(api, accept, subject):
    api.post("/auth/signup", {"email": "new@example.com"}, headers={"accept-language": accept})

    assert OutgoingMail.objects.get().language == subject
