"""Helpers for tests of sign-in: the body of a sign-up, ways in which sessions end, and a browser of
the admin site."""

import unicodedata

from django.core.management import call_command
from django.test import Client

from accounts.models import User
from audit.actors import COMMAND
from tests.cast import PASSWORD
from tests.clients import API
from tests.mailbox import mailed_token

NFC = "pässwört geheim"  # as Safari sends it
NFD = unicodedata.normalize("NFD", NFC)  # as Firefox on macOS sends it

PERSON = {
    "account_name": "Difference Engines",
    "first_name": "Charles",
    "last_name": "Babbage",
    "password": PASSWORD,
}

NEW_PASSWORD = "another battery staple"


def redeem(user, api):
    api.post("/password-changes", {"email": user.email})
    token = mailed_token()
    api.post("/password-changes/redeem", {"token": token, "password": NEW_PASSWORD})


def set_password(user, api):
    user.refresh_from_db()
    user.set_password(NEW_PASSWORD)
    user.save()


ENDINGS = [
    lambda user, api: user.sign_out(COMMAND),
    lambda user, api: call_command("signout", "--everybody"),
    lambda user, api: user.update_role_or_active(user, is_active=False),
    set_password,
    redeem,
]


def admin_browser(user):
    """A browser in which the user, made a superuser, is signed in to the admin site."""
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    browser = Client()
    form = {"username": user.email, "password": PASSWORD, "next": "/admin/"}
    assert browser.post("/admin/login/", form).status_code == 302
    return browser


def assert_signed_in(api, answer):
    """The answer begins a session: its access token works, and the refresh token is in the cookie,
    which the client `api` keeps."""
    assert answer.status_code == 200
    session = API(authorization=f"Bearer {answer.json()['access_token']}")
    assert session.get("/auth/me").json() == answer.json()["user"]
    cookie = answer.cookies["service_refresh"]
    assert cookie.value == answer.json()["refresh_token"]
    assert (cookie["httponly"], cookie["path"], cookie["secure"]) == (True, "/auth", True)
    assert api.post("/auth/refresh").status_code == 200
