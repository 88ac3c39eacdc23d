"""What is good once is good once, however many requests race; and what two people do at the same
moment has one of the outcomes that one after the other would have."""

from collections import Counter
from functools import partial
from uuid import uuid4

import pytest

from accounts.models import Account, Role, User
from audit.actors import COMMAND
from invitations.models import Invitation
from passwords.models import PasswordChange
from signin.factors.models import Factors, RecoveryCode
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.races import race
from tests.signin.factors.helpers import (
    PASSWORD_FIELD,
    amr_of,
    begin_passkey,
    challenge,
    code,
    log_in,
    with_app,
    with_passkey,
)

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE, TIMES = 30, 10


@pytest.fixture(autouse=True)
def no_lock(settings):
    settings.LOCKOUT_THRESHOLD = 1000


def statuses(answers):
    return Counter(getattr(answer, "status_code", None) or answer[0] for answer in answers)


@pytest.mark.parametrize(("kind", "count"), [("app", 10), ("recovery", 9)])
def test_one_code_signs_in_once(ada, kind, count):
    recovery_codes = with_app(ada)
    used_code = code() if kind == "app" else recovery_codes[0]

    answers = race(*[partial(log_in, API(), ada, code=used_code) for _ in range(AT_ONCE)])

    assert statuses(answers) == {200: 1, 401: AT_ONCE - 1}
    assert RecoveryCode.objects.count() == count


def test_one_challenge_signs_in_once(ada):
    signed = with_passkey(ada).sign(challenge(API()))
    body = {"credential": signed}

    answers = race(*[partial(API().post, "/auth/passkeys/login", body) for _ in range(AT_ONCE)])

    assert statuses(answers) == {200: 1, 401: AT_ONCE - 1}


def test_one_registration_adds_one_passkey(ada):
    api = bearer(ada)
    add = partial(bearer(ada).post, "/auth/factors/passkeys", begin_passkey(api))

    answers = race(*[add] * AT_ONCE)

    assert statuses(answers)[201] == 1
    assert statuses(answers).keys() <= {201, 401, 403}  # 401: the first factor ended the session
    assert RecoveryCode.objects.count() == 10


@pytest.mark.usefixtures("bob")  # whose sessions have the same version, and go on
def test_first_of_racing_first_factors_ends_the_sessions_of_the_others(ada):
    bodies = [begin_passkey(bearer(ada)) for _ in range(6)]
    calls = [partial(bearer(ada).post, "/auth/factors/passkeys", body) for body in bodies]

    answers = race(*calls)

    assert statuses(answers) == {201: 1, 401: 5}
    assert RecoveryCode.objects.count() == 10
    assert Factors.objects.get().passkeys.count() == 1


def is_whole(user):
    """Whether what is written of the person in two places agrees, codes included."""
    user, factors = User.objects.get(pk=user.pk), Factors.objects.filter(user=user).first()
    items = factors.app_and_passkeys() if factors else []
    codes = RecoveryCode.objects.filter(factors=user.pk).count()
    return user.has_second_factor == bool(items) == bool(factors) == bool(codes)


def test_adding_races_with_removing_the_last(ada):
    for _ in range(TIMES):
        codes = with_app(ada)
        api, factor = bearer(ada), Factors.objects.get().totp_id
        body = begin_passkey(api, PASSWORD_FIELD | {"code": codes[0]})
        reauthentication = PASSWORD_FIELD | {"code": codes[1]}
        added, removed = race(
            partial(api.post, "/auth/factors/passkeys", body),
            partial(bearer(ada).post, f"/auth/factors/{factor}/remove", reauthentication),
        )

        assert (added.status_code, removed.status_code) == (201, 204)
        assert is_whole(ada)
        assert Factors.objects.get().passkeys.count() == 1
        Factors.objects.reset(ada, COMMAND)
        ada.refresh_from_db()


def require(admin):
    return bearer(admin).patch("/account", {"second_factor": "required"})


def test_requiring_races_with_removing_the_last(ada, new_user):
    bob = new_user(account=ada.account)
    with_app(ada)
    for _ in range(TIMES):
        codes, factor = with_app(bob), Factors.objects.get(user=bob).totp_id
        as_bob, bob_was = bearer(bob), User.objects.get(pk=bob.pk)
        required, removed = race(
            partial(require, ada),
            partial(
                as_bob.post, f"/auth/factors/{factor}/remove", PASSWORD_FIELD | {"code": codes[0]}
            ),
        )

        assert required.status_code == 200
        assert removed.status_code in {204, 409, 401}
        gone = removed.status_code == 204
        assert User.objects.get(pk=bob.pk).has_second_factor is not gone
        assert as_bob.get("/auth/me").status_code == (401 if gone else 200)
        Factors.objects.reset(bob_was, COMMAND)
        Account.objects.update(second_factor="optional")


def by_password(ada, bob):
    return partial(API().post, "/auth/login", {"email": bob.email, "password": PASSWORD})


def by_invitation(ada, bob):
    invitation = Invitation.objects.invite(ada, f"{uuid4().hex}@example.com")
    person = {"first_name": "N", "last_name": "N", "password": PASSWORD}
    return partial(API().post, "/invitations/accept", person | {"token": invitation.token})


@pytest.mark.parametrize("way_in", [by_password, by_invitation])
def test_requiring_races_with_a_sign_in(ada, new_user, way_in):
    """Whoever got in before the rule came is out again."""
    bob = new_user(account=ada.account)
    with_app(ada)
    for _ in range(TIMES):
        required, signed_in = race(partial(require, ada), way_in(ada, bob))

        assert required.status_code == 200
        body = signed_in.json()
        if signed_in.status_code == 200:
            session = API(authorization=f"Bearer {body['access_token']}")
            assert session.get("/auth/me").status_code == 401
        else:
            refusal = (signed_in.status_code, body["error"])
            assert refusal == (401, "second factor must be set up")
        Account.objects.update(second_factor="optional")


@pytest.mark.usefixtures("real_hashes")  # which leave the other call time
def test_first_factor_races_with_a_password_link(ada):
    for _ in range(TIMES):
        api = bearer(ada)
        passkey, link = begin_passkey(api), PasswordChange.objects.make_link(ada)
        added, (status, body) = race(
            partial(api.post, "/auth/factors/passkeys", passkey), partial(redeem, link)
        )

        if added.status_code == 201:
            assert (status, body["error"]) == (401, "second factor required")
        else:
            assert (added.status_code, status) == (401, 200)
        Factors.objects.all().delete()
        ada.has_second_factor = False
        ada.set_password(PASSWORD)
        ada.save()


def redeem(link):
    body = {"token": link.token, "password": "a new password"}
    answer = API().post("/password-changes/redeem", body)
    return answer.status_code, answer.json()


def test_reset_races_with_a_log_in(ada, new_user):
    admin = new_user(account=ada.account, role=Role.ADMIN)
    for _ in range(TIMES):
        with_app(ada)
        reset, (status, body) = race(
            partial(bearer(admin).delete, f"/users/{ada.pk}/factors"),
            partial(log_in, API(), ada, code=code()),
        )

        assert reset.status_code == 204
        assert is_whole(ada)
        if status == 200:  # right after the reset, by the password alone
            session = API(authorization=f"Bearer {body['access_token']}")
            assert session.get("/auth/me").status_code == 401 or amr_of(body) == [["pwd"]] * 2
        else:
            assert (status, body["error"]) == (401, "wrong code")


def test_reset_races_with_adding(ada, new_user):
    admin = new_user(account=ada.account, role=Role.ADMIN)
    for _ in range(TIMES):
        codes = with_app(ada)
        api = bearer(ada)
        body = begin_passkey(api, PASSWORD_FIELD | {"code": codes[0]})
        reset, added = race(
            partial(bearer(admin).delete, f"/users/{ada.pk}/factors"),
            partial(api.post, "/auth/factors/passkeys", body),
        )

        assert reset.status_code == 204
        assert added.status_code in {201, 401}
        assert is_whole(ada)
        assert not User.objects.get(pk=ada.pk).has_second_factor


def test_enrolments_race_to_one_factor_and_one_session(ada):
    Account.objects.update(second_factor="required")
    bearer_of_it = f"Bearer {log_in(API(), ada)[1]['enrolment']}"
    clients = [API(authorization=bearer_of_it) for _ in range(6)]
    calls = [
        partial(client.post, "/auth/factors/passkeys", begin_passkey(client, {}))
        for client in clients
    ]

    answers = race(*calls)

    assert statuses(answers) == {201: 1, 401: 5}
    assert is_whole(ada)
    assert Factors.objects.get().passkeys.count() == 1
