"""`manage.py factors`, and the back office's button."""

import pytest

from audit.models import AuditEvent, Kind
from metrics import series
from tests.accounts.helpers import run
from tests.mailbox import mailed
from tests.signin.factors.helpers import code, log_in, with_app, wrong_code

pytestmark = pytest.mark.django_db


def test_command_shows_factors(capsys, ada):
    assert run(capsys, "factors", ada.email) == "ada@example.com has no second factor.\n"
    with_app(ada)

    assert run(capsys, "factors", ada.email) == "totp, never used\nrecovery codes left: 10\n"


def test_command_removes_factors(capsys, ada, as_ada, api):
    with_app(ada)

    assert run(capsys, "factors", ada.email, "--remove").endswith("Removed.\n")

    assert log_in(api, ada)[0] == 200
    assert as_ada.get("/auth/me").status_code == 401
    assert mailed().to == [ada.email]
    assert AuditEvent.objects.get(kind=Kind.FACTORS_RESET).subject == ada.email


def test_sign_ins_and_wrong_codes_are_counted_by_method(ada, api):
    def value(counter, method):
        return float(counter.labels(method)._value.get())

    with_app(ada)
    before = value(series.sign_ins, "totp"), value(series.wrong_codes, "totp")
    log_in(api, ada, code=wrong_code())
    log_in(api, ada, code=code())

    after = value(series.sign_ins, "totp"), value(series.wrong_codes, "totp")
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)
