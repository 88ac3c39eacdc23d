"""Who a request is counted for, whatever its headers claim."""

import base64
import json

import pytest
import time_machine

from accounts import tokens
from accounts.models import User
from tests.clients import API
from tests.throttling.conftest import limits

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis")]


def base64url(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def access_token(user):
    return str(tokens.issue_pair(user)[0])


def me(token=None, peer="203.0.113.1", **headers):
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return API().get("/auth/me", REMOTE_ADDR=peer, headers=headers)


def left(answer):
    return int(limits(answer)["x-ratelimit-remaining"])


def forged(token):
    """The token with changed claims and its old signature."""
    head, payload, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    claims["jti"] = "forged"
    return f"{head}.{base64url(json.dumps(claims).encode())}.{signature}"


def test_user_is_counted_together_from_all_addresses(ada):
    peers = ["203.0.113.1", "198.51.100.7", "2001:db8::1"]

    assert [left(me(access_token(ada), peer)) for peer in peers] == [299, 298, 297]


def test_refused_user_is_refused_everywhere_and_alone(ada, bob, settings):
    settings.RATE_LIMIT_AUTHENTICATED = 1
    me(access_token(ada))

    assert me(access_token(ada), "198.51.100.7").status_code == 429
    assert me(access_token(bob)).status_code == 200
    assert me().status_code == 401  # the address itself has a count of its own


def test_ended_session_uses_up_nothing_of_the_new_one(ada, settings):
    settings.RATE_LIMIT_AUTHENTICATED = 2
    ended = access_token(ada)
    User.objects.filter(pk=ada.pk).sign_out()
    ada.refresh_from_db()

    assert [me(ended).status_code for _ in range(3)] == [401, 401, 429]
    assert left(me(access_token(ada))) == 1


@pytest.mark.parametrize("change", [{"is_active": False}, {"token_version": 9}])
def test_valid_token_of_an_inactive_user_counts_for_the_user(ada, change):
    token = access_token(ada)
    User.objects.filter(pk=ada.pk).update(**change)
    answers = [me(token), me(token, "198.51.100.7")]

    assert [(answer.status_code, left(answer)) for answer in answers] == [(401, 299), (401, 298)]


def test_invalid_token_counts_for_the_address(ada):
    with time_machine.travel("2020-01-01"):
        expired = access_token(ada)
    refresh = str(tokens.issue_pair(ada)[1])
    useless = [None, "", expired, forged(access_token(ada)), refresh]
    answers = [me(token) for token in useless]

    assert [(answer.status_code, left(answer)) for answer in answers] == [
        (401, 299 - n) for n in range(len(useless))
    ]
    assert left(me(expired, "198.51.100.7")) == 299
    assert left(me(access_token(ada))) == 299


@pytest.mark.parametrize(
    "header",
    [
        "",
        *["Bearer", "Bearer ", "Bearer .", "Bearer a.b", "Bearer a.b.c.d", "Bearer é.ü.ß"],
        *["Bearer \x00", "Bearer a b c", "Bearer\ta.b.c", "Bearer " + "." * 8000],
        *["Basic YTpi", "bearer", "BEARER a.b.c", "a.b.c", ", Bearer a.b.c"],
    ],
)
def test_broken_header_counts_for_its_address(header):
    answer = me(authorization=header)

    assert (answer.status_code, answer.json()) == (401, {"error": "missing or invalid token"})
    assert answer["WWW-Authenticate"] == "Bearer"
    assert left(answer) == 299


@pytest.mark.parametrize(
    "head",
    [
        b"",
        *[b"null", b"[]", b"7", b'"x"', b"{}", b"[" * 6000, b'{"a":' * 1200],
        b'{"alg":"RS256","kid":' + b"9" * 5000 + b"}",
        b'{"alg":"RS256","kid":[]}',
        b'{"alg":null}',
        b'{"alg":"RS256","kid":"\\ud800"}',
        b'{"alg":"RS256","crit":["x"]}',
        b"\xff\xfe",
    ],
)
def test_malformed_token_counts_for_its_address(head):
    for payload in (head, b"{}"):
        answer = me(f"{base64url(head)}.{base64url(payload)}.{base64url(b'x' * 256)}")

        assert answer.status_code == 401
        refresh = {"refresh_token": f"{base64url(head)}.{base64url(payload)}.AAAA"}
        assert API().post("/auth/refresh", refresh).status_code == 401
    assert left(answer) == 298
