"""What ends sessions ends them for good: tokens after a restore, and the admin site's too."""

import pytest
from django.core.management import call_command

from accounts.models import User
from audit.actors import COMMAND
from tests.clients import bearer
from tests.signin.helpers import ENDINGS, admin_browser

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("end", ENDINGS)
def test_revoked_token_stays_invalid_after_an_older_backup_is_restored(ada, bob, api, end):
    dumped = User.objects.filter(pk=bob.pk).values("password", "token_version", "is_active").get()
    bob.sign_out(COMMAND)
    later = bearer(bob)
    assert later.get("/auth/me").status_code == 200
    end(bob, api)
    assert later.get("/auth/me").status_code == 401

    User.objects.filter(pk=bob.pk).update(**dumped)  # the restore
    call_command("signout", "--everybody")

    assert later.get("/auth/me").status_code == 401


@pytest.mark.parametrize("end", ENDINGS)
def test_token_version_is_never_less_than_the_present_time(ada, bob, api, time_machine, end):
    time_machine.move_to(1_900_000_000, tick=False)
    end(bob, api)
    bob.refresh_from_db()
    first = bob.token_version

    bob.sign_out(COMMAND)

    bob.refresh_from_db()
    assert first >= 1_900_000_000_000_000
    assert bob.token_version == first + 1


@pytest.fixture
def superuser_browser(ada):
    browser = admin_browser(ada)
    assert browser.get("/admin/").status_code == 200
    return ada, browser


def test_admin_session_ends_with_log_out_everywhere(superuser_browser):
    user, browser = superuser_browser

    bearer(user).post("/auth/logout-everywhere")

    assert browser.get("/admin/").status_code == 302


def test_admin_session_outlives_a_change_of_the_secret_but_not_a_sign_out(
    superuser_browser, settings
):
    user, browser = superuser_browser
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "new" * 20
    hashes = list(user.get_session_auth_fallback_hash())
    assert hashes == [user.get_session_auth_hash(settings.SECRET_KEY_FALLBACKS[0])]
    assert browser.get("/admin/").status_code == 200
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "newer" * 20

    user.sign_out(COMMAND)

    assert browser.get("/admin/").status_code == 302
