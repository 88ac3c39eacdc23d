"""`manage.py factors`, and the back office's button."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import User
from audit.models import Kind, Record
from signin.factors.models import Factors
from tests.conftest import mailed
from tests.signin.factors.conftest import log_in, with_app

pytestmark = pytest.mark.django_db


def said(*words, **options):
    out = io.StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()


def test_command_shows_factors(ada):
    assert said("factors", ada.email) == "ada@example.com has no second factor\n"
    with_app(ada)

    assert said("factors", ada.email) == "totp, never used\nrecovery codes left: 10\n"


def test_command_removes_factors(ada, as_ada, api):
    with_app(ada)

    assert said("factors", ada.email, "--remove").endswith("removed\n")

    assert log_in(api, ada)[0] == 200
    assert as_ada.get("/auth/me").status_code == 401
    assert mailed().to == [ada.email]
    assert Record.objects.get(kind=Kind.FACTORS_RESET).subject == ada.email


def test_unknown_address_is_an_error(db):
    with pytest.raises(CommandError, match="no user"):
        said("factors", "nobody@example.com")


def test_superuser_removes_a_users(operator, ada):
    with_app(ada)
    page = f"/admin/accounts/user/{ada.pk}/change/"
    assert "reset_factors" in operator.get(page).content.decode()

    operator.post(page, {"_do": "reset_factors", "post": "yes"})

    assert not Factors.objects.exists()
    assert "reset_factors" not in operator.get(page).content.decode()


def test_nobody_removes_their_own_there(operator):
    op = User.objects.get()
    with_app(op)

    operator.post(f"/admin/accounts/user/{op.pk}/change/", {"_do": "reset_factors", "post": "yes"})

    assert Factors.objects.exists()


def test_staff_who_are_no_superusers_remove_nobodys(ada, new_user):
    from django.contrib.auth.models import Permission

    clerk = new_user(is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(content_type__app_label="accounts"))
    browser = Client()
    browser.force_login(clerk)
    with_app(ada)

    browser.post(f"/admin/accounts/user/{ada.pk}/change/", {"_do": "reset_factors", "post": "yes"})

    assert Factors.objects.exists()


def test_sign_ins_and_wrong_codes_are_counted_by_method(ada, api):
    from metrics import series
    from tests.signin.factors.conftest import code, wrong_code

    def value(counter, method):
        return float(counter.labels(method)._value.get())

    with_app(ada)
    before = value(series.sign_ins, "totp"), value(series.wrong_codes, "totp")
    log_in(api, ada, code=wrong_code())
    log_in(api, ada, code=code())

    after = value(series.sign_ins, "totp"), value(series.wrong_codes, "totp")
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)
