"""Who should never get in."""

import itertools
import time

import jwt

from tests.hosts.conftest import Balancer

numbers = itertools.count()


def ask(world, method, path, body=None, **headers):
    """The answer to a stranger, who never comes from the same network twice."""
    number = next(numbers)
    client = f"203.{number // 65536 % 250}.{number // 256 % 256}.{number % 256}"
    return world.balancer.ask(client, method, path, body, **headers).status


def guess(world, email):
    body = {"email": email, "password": f"guess {next(numbers)}"}
    return ask(world, "POST", "/auth/login", body)


def spray(world, times):
    """One password after another at addresses that nobody knows."""
    answers = [guess(world, f"somebody{next(numbers)}@example.net") for _ in range(times)]
    assert set(answers) == {401}


def lock(world, person):
    """Guess at somebody's password until nobody is let in, the owner for a while neither."""
    assert [guess(world, person.email) for _ in range(6)] == [401] * 5 + [429]
    body = {"email": person.email, "password": person.password}
    assert person.ask("POST", "/auth/login", body).status == 429


def try_known_password(world, person):
    """The right password, and no code of the app's."""
    wrong = {"email": person.email, "password": person.password, "code": "000000"}
    assert ask(world, "POST", "/auth/login", wrong) == 401


def forge(key, token, world):
    """A token that somebody signs with a key that has leaked, as whose token this is."""
    claims = jwt.decode(token, options={"verify_signature": False})
    now = int(world.clock.now().timestamp())
    claims |= {"iat": now, "exp": now + 3600, "jti": f"forged-{time.monotonic_ns()}"}
    kid = jwt.get_unverified_header(token)["kid"]
    return jwt.encode(claims, key.read_bytes(), algorithm="RS256", headers={"kid": kid})


def answers(hosts, token):
    """What each host answers to the bearer of a token."""
    bearer = f"Bearer {token}"
    return [
        Balancer([host]).ask("192.0.2.9", "GET", "/auth/me", Authorization=bearer).status
        for host in hosts
    ]
