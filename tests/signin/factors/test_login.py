"""POST /auth/login of a user who has an app and recovery codes."""

import pytest

from audit.models import AuditEvent, Kind
from signin.factors.models import Factors
from tests.signin.factors.helpers import NOW, amr_of, code, log_in, with_app, wrong_code
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

REQUIRED = {"error": "second factor required", "methods": ["totp", "recovery_code"]}
WRONG_CODE = (401, {"error": "wrong code", "cause": "wrong_code"})
WRONG_RECOVERY_CODE = (401, {"error": "wrong code", "cause": "wrong_recovery_code"})
WRONG_PASSWORD = (401, {"error": "wrong e-mail or password"})


def test_password_alone_signs_in_a_user_without_a_factor(api, ada):
    status, body = log_in(api, ada)

    assert (status, amr_of(body)) == (200, [["pwd"], ["pwd"]])


@pytest.mark.parametrize(
    ("steps", "cause"),
    [(-22, "wrong_code"), (-18, "old_code"), (-3, "old_code"), (3, "wrong_code")],
)
def test_code_of_a_step_further_off_is_refused(api, ada, codes, time_machine, steps, cause):
    time_machine.move_to(NOW, tick=False)

    assert log_in(api, ada, code=code(steps)) == (401, {"error": "wrong code", "cause": cause})


@pytest.mark.parametrize("between", ["", " ", "-", "\u2003", "\u2013", "\u200b", "\t"])
def test_code_works_once_in_any_spelling(api, ada, codes, between):
    current_code = code()
    log_in(api, ada, code=current_code)

    status, _ = log_in(api, ada, code=between.join(["", current_code[:3], current_code[3:], ""]))

    assert status in {400, 401}  # a control character is refused as such
    assert Factors.objects.get().wrong_codes == (status == 401)


@pytest.mark.parametrize("zero", ["\uff10", "\u0660", "\u06f0", "\u0966"])
def test_code_in_digits_of_another_script_signs_in(api, ada, codes, zero):
    typed_code = "".join(chr(ord(zero) + int(digit)) for digit in code())

    assert log_in(api, ada, code=typed_code)[0] == 200


def test_earlier_code_is_refused_after_a_later_one(api, ada, codes, time_machine):
    time_machine.move_to(NOW, tick=False)
    earlier, later = code(-1), code(1)
    log_in(api, ada, code=later)

    assert log_in(api, ada, code=earlier)[1] == {"error": "wrong code", "cause": "used_code"}


def test_recovery_code_signs_in_once_in_any_spelling(api, ada, codes):
    status, body = log_in(api, ada, code=codes[3].lower().replace("-", " "))

    assert (status, amr_of(body)) == (200, [["pwd", "otp", "mfa"]] * 2)
    assert log_in(api, ada, code=codes[3]) == WRONG_RECOVERY_CODE
    misread_code = next(code for code in codes if code != codes[3] and set(code) & set("OI"))
    misread_code = misread_code.replace("O", "0").replace("I", "1").lower()
    assert log_in(api, ada, code=misread_code)[0] == 200
    full_width_code = "".join(chr(ord(sign) + 0xFEE0) for sign in codes[5].replace("-", ""))
    assert log_in(api, ada, code=full_width_code)[0] == 200


def test_recovery_codes_that_are_used_up_are_not_asked_for(api, ada, codes):
    Factors.objects.get().recovery_codes.all().delete()

    assert log_in(api, ada) == (401, REQUIRED | {"methods": ["totp"]})


def test_recovery_code_of_another_user_is_refused(api, ada, bob, codes):
    assert log_in(api, ada, code=with_app(bob)[0]) == WRONG_RECOVERY_CODE


def test_wrong_password_with_a_right_code_uses_nothing_up(api, ada, codes):
    current_code = code()

    assert log_in(api, ada, "wrong password", code=current_code) == WRONG_PASSWORD
    assert log_in(api, ada, code=current_code)[0] == 200


def test_wrong_password_does_not_tell_who_has_a_factor(api, ada, bob, codes):
    answers = [
        api.post("/auth/login", {"email": email, "password": "wrong password"} | proof)
        for email in (ada.email, bob.email, "nobody@example.com")
        for proof in ({}, {"code": code()}, {"passkey": {"id": "x"}})
    ]

    assert {(a.status_code, a.content) for a in answers} == {(401, answers[0].content)}
    assert len({tuple(sorted(a.headers)) for a in answers}) == 1


def test_missing_code_is_neither_a_failure_nor_a_success(api, ada, codes):
    log_in(api, ada, "wrong password")

    for _ in range(6):
        assert log_in(api, ada) == (401, REQUIRED)

    assert "service_refresh" not in api.cookies
    assert Lockout.objects.get().failures == 1


def test_wrong_codes_lock_like_wrong_passwords(api, ada, codes):
    for _ in range(5):
        assert log_in(api, ada, code=wrong_code()) == WRONG_CODE

    assert log_in(api, ada, code=code())[0] == 429
    assert log_in(api, ada)[0] == 429
    assert Factors.objects.get().wrong_codes == 5


def test_success_clears_failed_attempts_and_wrong_codes(api, ada, codes):
    log_in(api, ada, code=wrong_code())

    log_in(api, ada, code=code())

    assert not Lockout.objects.exists()
    assert Factors.objects.get().wrong_codes == 0


def test_hundred_wrong_codes_stop_the_apps_codes_but_no_recovery_code(api, ada, codes):
    Factors.objects.update(wrong_codes=99)
    log_in(api, ada, code=wrong_code())

    assert AuditEvent.objects.get(kind=Kind.CODES_STOPPED).subject == ada.email
    assert log_in(api, ada, code=code()) == WRONG_CODE
    assert log_in(api, ada, code=codes[0])[0] == 200
    assert log_in(api, ada, code=code(1))[0] == 200


def test_lost_secret_key_breaks_the_app_but_no_recovery_code(api, ada, codes, settings):
    settings.SECRET_KEY = "another secret, of 32 characters or more"

    assert log_in(api, ada, code=code()) == WRONG_CODE
    assert log_in(api, ada, code=codes[0])[0] == 200


def test_secret_of_an_app_is_encrypted_anew_by_each_sign_in(api, ada, codes, settings):
    older, settings.SECRET_KEY = settings.SECRET_KEY, "a newer secret, of 32 characters or more"
    settings.SECRET_KEY_FALLBACKS = [older]
    assert log_in(api, ada, code=code())[0] == 200
    settings.SECRET_KEY_FALLBACKS = []

    assert log_in(api, ada, code=code(1))[0] == 200


def test_refreshed_tokens_keep_the_method_of_the_sign_in(api, ada, codes):
    log_in(api, ada, code=code())

    assert amr_of(api.post("/auth/refresh").json()) == [["pwd", "otp", "mfa"]] * 2
