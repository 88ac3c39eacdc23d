"""Operators change their passwords as everybody does, by a mailed link: the header asks for it."""

import pytest
from django.contrib import admin
from django.core import mail
from django.test import Client

from accounts.models import User
from mail.outbox import OutgoingMail
from mail.worker import Worker
from tests.backoffice.test_lookups import staff_with
from tests.conftest import API, mailed_token

pytestmark = pytest.mark.django_db
ASK = "/admin/password-link/"


@pytest.mark.parametrize("path", ["password_change/", "password_change/done/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_django_s_form_is_gone(operator, path, method):
    assert getattr(operator, method)(f"/admin/{path}").status_code == 404


def test_site_has_no_other_path_for_passwords():
    names = [getattr(entry, "name", None) or "" for entry in admin.site.get_urls()]

    assert [name for name in names if "password" in name] == ["password_link"]


def test_header_says_that_a_link_is_mailed(bob):
    page = staff_with(bob).get("/admin/").content.decode()

    assert f'formaction="{ASK}">Change password</button>' in page
    assert "password_change/" not in page


def test_mailed_link_sets_the_password_and_ends_the_session(operator):
    answer = operator.post(ASK, follow=True)
    said = "A link to change your password goes to op@example.com, at most 5 an hour."
    token = mailed_token()
    body = {"token": token, "password": "another operator's"}

    assert said in answer.content.decode()
    assert mail.outbox[-1].to == ["op@example.com"]
    assert API().post("/password-changes/redeem", body).status_code == 200
    assert operator.get("/admin/").status_code == 302


def test_hour_has_its_budget(operator):
    for _ in range(7):
        assert operator.post(ASK).status_code == 302

    assert OutgoingMail.objects.filter(email="op@example.com").count() == 5


def test_only_a_form_of_the_site_asks(operator, client, ada):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(email="op@example.com"))
    client.force_login(ada)  # of no staff

    assert operator.get(ASK).status_code == 405
    assert strict.post(ASK).status_code == 403
    assert client.post(ASK).status_code == 302
    assert client.post(ASK)["Location"].startswith("/admin/login/")
    Worker().round()
    assert mail.outbox == []
