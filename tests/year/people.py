"""Who lives through the year: people and assistants that know whether they should be let in."""

import base64
import itertools
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from signin.factors import totp
from tests.assistants.conftest import CHALLENGE, REDIRECT, VERIFIER, hidden
from tests.hosts.conftest import Balancer
from tests.releases.fill import PASSWORD
from tests.year.clock import Clock
from tests.year.places import SHARED
from tests.year.post import Post

ACCESS, REFRESH, SESSION = timedelta(hours=1), timedelta(days=2), timedelta(days=30)
OLDEST_KEPT = 4  # sessions that a person tries again at a month's end
addresses = (f"198.51.{high}.{low}" for high in range(100) for low in range(1, 250))


class World(Protocol):
    """What people need of it."""

    balancer: Balancer
    clock: Clock
    post: Post


@dataclass
class Session:
    """A pair of tokens: of when, of a sign-in of when, and whether somebody has ended it."""

    access: str
    refresh: str
    made: datetime
    signed_in: datetime
    ended: bool = False

    def opens(self, now):
        return not self.ended and now < self.made + ACCESS

    def goes_on(self, now):
        return not self.ended and now < min(self.made + REFRESH, self.signed_in + SESSION)


@dataclass
class Person:
    """Somebody with a browser, whose address is their own."""

    world: World = field(repr=False)
    email: str
    password: str = PASSWORD
    comes_daily: bool = True
    is_active: bool = True
    secret: bytes | None = None  # of the authenticator app
    sessions: list[Session] = field(default_factory=list)
    assistants: list["Assistant"] = field(default_factory=list, repr=False)
    address: str = field(default_factory=lambda: next(addresses))

    def ask(self, method, path, body=None, **headers):
        return self.world.balancer.ask(self.address, method, path, body, **headers)

    def call(self, method, path, body=None):
        """With the newest access token, renewed where it is too old."""
        if not (self.sessions and self.sessions[-1].opens(self.now)):
            self.comes()
        return self.ask(method, path, body, Authorization=f"Bearer {self.sessions[-1].access}")

    def must(self, method, path, body=None):
        answer = self.call(method, path, body)
        assert answer.status in {200, 201, 204}, (self.email, path, answer.status, answer.body)
        return answer.json() if answer.body else None

    @property
    def now(self):
        return self.world.clock.now()

    # Sessions

    def keep(self, answer, signed_in=None):
        """The pair of an answer that signs in, or goes on with a sign-in of then."""
        assert answer.status == 200, (self.email, answer.status, answer.body)
        pair, now = answer.json(), self.now
        session = Session(pair["access_token"], pair["refresh_token"], now, signed_in or now)
        self.sessions = [*self.sessions, session][-OLDEST_KEPT:]

    def body(self):
        """What the person signs in with."""
        proof = {"code": self.code()} if self.secret else {}
        return {"email": self.email, "password": self.password} | proof

    def log_in(self):
        self.keep(self.ask("POST", "/auth/login", self.body()))

    def refreshes(self, session):
        return self.ask("POST", "/auth/refresh", {"refresh_token": session.refresh})

    def comes(self):
        """Go on with the newest session; sign in where it is over, which must be as expected."""
        newest = self.sessions[-1] if self.sessions else None
        if newest is not None:
            goes_on, answer = newest.goes_on(self.now), self.refreshes(newest)
            assert answer.status == (200 if goes_on else 401), (self.email, newest, answer.body)
            if goes_on:
                self.keep(answer, newest.signed_in)
                return
        self.world.clock.go_on(minutes=5)  # or 30 days later it would be a matter of seconds
        self.log_in()

    def end_sessions(self):
        """Note that all of them have been ended, and the grants of assistants with them."""
        for session in [*self.sessions, *(assistant.session for assistant in self.assistants)]:
            session.ended = True

    def check(self):
        """What every pair of tokens that is still at hand is good for."""
        for session in self.sessions:
            bearer = f"Bearer {session.access}"
            found = (
                self.ask("GET", "/auth/me", Authorization=bearer).status,
                self.refreshes(session).status,
            )
            opens, goes_on = session.opens(self.now), session.goes_on(self.now)
            assert found == (200 if opens else 401, 200 if goes_on else 401), (self.email, session)

    # What people do

    def code(self):
        """A code of the app that no sign-in has had: the year goes on by a step before it."""
        assert self.secret is not None
        self.world.clock.go_on(seconds=30)
        return totp.app(self.secret).generate(int(self.now.timestamp())).decode()

    def adds_app(self):
        begun = self.must("POST", "/auth/factors/totp", {"password": self.password})
        self.secret = base64.b32decode(begun["secret"])
        self.must("POST", "/auth/factors/totp/confirm", {"id": begun["id"], "code": self.code()})
        self.world.post.expect(self.email, "An authenticator app was added")

    def changes_password(self):
        self.asks_for_a_new_password()
        self.changes_it()

    def asks_for_a_new_password(self):
        self.ask("POST", "/password-changes", {"email": self.email})

    def changes_it(self):
        """By the link in the mail, which has not been waited for yet."""
        token = self.world.post.token(self.email, "Change your password")
        self.password += "!"
        self.end_sessions()
        proof = {"code": self.code()} if self.secret else {}
        body = {"token": token, "password": self.password} | proof
        self.keep(self.ask("POST", "/password-changes/redeem", body))
        self.world.post.expect(self.email, "Your password was changed")

    def signs_out_everywhere(self):
        self.must("POST", "/auth/logout-everywhere")
        self.end_sessions()

    def invites(self, email):
        self.must("POST", "/invitations", {"email": email})

    def deactivates(self, other):
        people = self.must("GET", "/users?per_page=100")["items"]
        (found,) = [person["id"] for person in people if person["email"] == other.email]
        self.must("PATCH", f"/users/{found}", {"is_active": False})
        other.is_active = False
        other.end_sessions()
        self.world.post.expect(other.email, "Your account was deactivated")


def signs_up(world, email, company):
    """The admin of a new company."""
    person = Person(world, email)
    person.ask("POST", "/auth/signup", {"email": email})
    token = world.post.token(email, "Complete your sign-up")
    told = {"account_name": company, "first_name": "Ada", "last_name": "Lovelace"}
    body = told | {"token": token, "password": PASSWORD}
    person.keep(person.ask("POST", "/auth/complete-signup", body))
    return person


def accepts(world, email, token):
    """Somebody who was invited."""
    person = Person(world, email)
    body = {"token": token, "first_name": "Bob", "last_name": "Boole", "password": PASSWORD}
    person.keep(person.ask("POST", "/invitations/accept", body))
    return person


numbers = itertools.count()


@dataclass(eq=False)
class Assistant:
    """A program that a person has let in: one chain of refresh tokens."""

    person: Person
    client: str
    session: Session

    @classmethod
    def connect(cls, person):
        uris = {"redirect_uris": [REDIRECT], "client_name": f"Claudia {next(numbers)}"}
        client = person.ask("POST", "/oauth/register", uris).json()["client_id"]
        code = allowed(person, client)
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}
        answer = exchange(person, client, form | {"redirect_uri": REDIRECT})
        person.world.post.expect(person.email, "An assistant may act for you")
        return cls(person, client, pair(person, answer, person.now))

    def __post_init__(self):
        self.person.assistants.append(self)

    def asks(self):
        """What a call of a tool is answered."""
        params = {"name": "whoami", "arguments": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"MCP_Protocol_Version": "2025-11-25"}
        bearer = f"Bearer {self.session.access}"
        return self.person.ask("POST", "/mcp", message, Authorization=bearer, **headers).status

    def goes_on(self):
        """An assistant's refresh token lives as long as the grant, its access token an hour."""
        return not self.session.ended and self.person.now < self.session.signed_in + SESSION

    def comes(self):
        """Refresh, and use a tool; connect anew where that is over, which must be as expected."""
        goes_on = self.goes_on()
        form = {"grant_type": "refresh_token", "refresh_token": self.session.refresh}
        answer = exchange(self.person, self.client, form)
        assert answer.status == (200 if goes_on else 400), (self.person.email, answer.body)
        if goes_on:
            self.session = pair(self.person, answer, self.session.signed_in)
            assert self.asks() == 200
        elif self.person.is_active:
            again = Assistant.connect(self.person)
            self.person.assistants.remove(again)
            self.client, self.session = again.client, again.session

    def check(self):
        opens = self.session.opens(self.person.now) and self.goes_on()
        assert self.asks() == (200 if opens else 401), (self.person.email, self.session)


def pair(person, answer, signed_in):
    assert answer.status == 200, (person.email, answer.body)
    body = answer.json()
    return Session(body["access_token"], body["refresh_token"], person.now, signed_in)


def exchange(person, client, form):
    body = urlencode(form | {"client_id": client}).encode()
    kind = {"Content_Type": "application/x-www-form-urlencoded"}
    return person.ask("POST", "/oauth/token", body, **kind)


def allowed(person, client):
    """The code that a person's yes on the consent page leads to, in a browser of its own."""
    query = {
        "response_type": "code",
        "client_id": client,
        "redirect_uri": REDIRECT,
        "code_challenge": CHALLENGE.decode(),
        "code_challenge_method": "S256",
        "resource": f"{SHARED['SERVICE_URL']}/mcp",
        "scope": "mcp",
    }
    url, told = person.world.balancer.hosts[-1].url, {"X-Forwarded-For": person.address}
    with httpx.Client(base_url=url, headers=told, timeout=60) as browser:
        page = browser.get("/oauth/authorize", params=query)
        page = browser.post("/oauth/authorize", params=query, data=hidden(page) | person.body())
        yes = hidden(page) | {"decision": "allow"}
        done = browser.post("/oauth/authorize", params=query | {"step": "decision"}, data=yes)
    assert done.status_code == 302, (done.status_code, done.text)
    return parse_qs(urlsplit(done.headers["Location"]).query)["code"][0]
