"""The calls that are measured: the cast that makes them, their bytes, and what must come back."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Request = tuple[str, str, dict[str, str], str | None]  # method, path, headers, body

PASSWORD = "correct horse battery"
EXHAUSTED = "192.0.2.1"
ME, ME_METRICS = "GET /auth/me", "GET /auth/me, METRICS_TOKEN"
CHECK, EVENTS = "GET /auth/check", "GET /events of 500"
USERS, USERS_BY_KEY = "GET /users", "GET /users by API key"
PROVISION, DIRECTORY_PAGE = "POST /scim/v2/Users", "GET /scim/v2/Users, 100 of 10,000"
LOOK_UP = "GET /scim/v2/Users, userName eq"
# What calls may take at most, of the service's CPU.
MILLISECONDS = {EVENTS: 50, DIRECTORY_PAGE: 120, LOOK_UP: 10, PROVISION: 25}
addresses = (f"198.51.{n // 250 % 250}.{n % 250 + 1}" for n in itertools.count())


def request(method: str, path: str, body: Any = None, **headers: str) -> Request:
    """A request from an address of its own, unless the headers name one."""
    headers = {"X-Forwarded-For": headers.pop("caller", None) or next(addresses)} | headers
    if body is not None:
        headers["Content-Type"] = "application/json"
    return method, path, headers, None if body is None else json.dumps(body)


@dataclass
class Call:
    """One line of the table: what is sent, in turn, and the status of every answer."""

    name: str
    status: int
    requests: list[Request]
    server: str = "service"  # or another name of `servers.gunicorn`
    count: int = 1200  # requests in a round
    # Makes that many requests for a round, where each can be made only once.
    renew: Callable[[int], Iterator[Request]] | None = None
    cpu: list[float] = field(default_factory=list)  # milliseconds a request, by round
    rate: list[float] = field(default_factory=list)  # requests a second, by round
    latencies: list[list[float]] = field(default_factory=list)  # milliseconds, by round
    wrong: list[str] = field(default_factory=list)
    queries: int | None = None
    redis: int | None = None

    def sent_to(self, server: str) -> "Call":
        """The same call, not measured yet, to another server."""
        name = f"{self.name}, {server}"
        return Call(name, self.status, self.requests, server, self.count, self.renew)


def user(email: str) -> Any:
    from accounts.models import Account, Role, User

    account = Account.objects.create(name="Analytical Engines")
    return User.objects.create_user(
        email, PASSWORD, account=account, first_name="Ada", last_name="Lovelace", role=Role.ADMIN
    )


def api_key(maker: Any) -> str:
    """A key of the maker's company; of the operators' for a command."""
    from apikeys.models import ApiKey

    return ApiKey.objects.make(maker, "Bench", ["events:read", "users:read"])[1]


def directory() -> str:
    """The key of a company's directory, which has provisioned 10,000 users."""
    from django.utils import timezone

    from accounts.models import User
    from apikeys.models import ApiKey
    from sso.models import Domain

    admin = user("admin@directory.example")
    Domain.objects.create(account=admin.account, name="directory.example", proved_at=timezone.now())
    names = {"account": admin.account, "first_name": "Ann", "last_name": "Bee", "password": "!"}
    people = (User(email=f"p{n}@directory.example", **names) for n in range(9_999))
    User.objects.bulk_create(people, batch_size=1000)
    return ApiKey.objects.make(admin, "Bench", ["scim"])[1]


def people_to_provision(bearer: str) -> Callable[[int], Iterator[Request]]:
    """Makes requests that each create another user."""
    numbers = itertools.count()

    def make(count: int) -> Iterator[Request]:
        for number in itertools.islice(numbers, count):
            body = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "active": True}
            body |= {"userName": f"new{number}@directory.example", "externalId": f"id{number}"}
            body |= {"name": {"givenName": "Ann", "familyName": "Bee"}}
            yield request("POST", "/scim/v2/Users", body, Authorization=bearer)

    return make


def operators_key() -> str:
    """An operators' key, with 600 events to read."""
    from audit.actors import COMMAND
    from audit.models import AuditEvent, Kind

    AuditEvent.objects.bulk_create(AuditEvent(kind=Kind.PROFILE_CHANGED) for _ in range(600))
    return api_key(COMMAND)


def exhaust(tier: str, caller: str) -> None:
    """Leave a caller nothing of its limit, as if it had made all those requests."""
    from django.conf import settings
    from django_redis import get_redis_connection

    limit = settings.RATE_LIMIT_PUBLIC
    get_redis_connection().set(f"throttle:{tier}:{caller}", limit, ex=86400)


def refresh_tokens(count: int) -> Iterator[Request]:
    """A client hands in the newest of its tokens, which the service has not seen before."""
    from accounts import tokens
    from accounts.models import User

    ada = User.objects.get(email="ada@example.com")
    for _ in range(count):
        yield request("POST", "/auth/refresh", {"refresh_token": str(tokens.issue_pair(ada)[1])})


def signup_links(count: int) -> Iterator[Request]:
    from signin.models import SignupLink

    links = [SignupLink(email=f"new{n}.{next(addresses)}@example.com") for n in range(count)]
    for link in SignupLink.objects.bulk_create(links):
        body = {
            "token": link.token,
            "account_name": "Difference Engines",
            "first_name": "Charles",
            "last_name": "Babbage",
            "password": PASSWORD,
        }
        yield request("POST", "/auth/complete-signup", body)


def password_links(count: int) -> Iterator[Request]:
    from accounts.models import User
    from passwords.models import PasswordChange

    redeemer = User.objects.get(email="redeemer@example.com")
    links = [PasswordChange(user=redeemer, email=redeemer.email) for _ in range(count)]
    for link in PasswordChange.objects.bulk_create(links):
        yield request(
            "POST", "/password-changes/redeem", {"token": link.token, "password": PASSWORD}
        )


def assistants(people: list[Any]) -> Iterator[str]:
    """The Authorization headers of an assistant that each of these people has let in."""
    from assistants.models import Client, Grant

    client = Client.objects.create(name="Bench", redirect_uris=["https://bench.example/callback"])
    for person in people:
        version = person.token_version
        grant = Grant.objects.create(user=person, client=client, token_version=version)
        yield f"Bearer {grant.token_response()['access_token']}"


def whoami(bearer: str) -> Request:
    """The tool that answers what `GET /auth/me` does, called as a client of today calls it."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "whoami", "arguments": {}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}
    return request("POST", "/mcp", body, Authorization=bearer, **headers, **{"Mcp-Name": "whoami"})


def floor(name: str, path: str, count: int = 1200) -> Call:
    return Call(f"floor: {name}", 200, [request("GET", path)], "floor", count)


def get(name: str, path: str, bearers: list[str], status: int = 200, **more: Any) -> Call:
    """The call of a path with each of these Authorization headers in turn."""
    return Call(name, status, [request("GET", path, Authorization=b) for b in bearers], **more)


def cast() -> list[Call]:
    """All the calls, floors first."""
    from accounts import tokens
    from accounts.models import User
    from keys.cache import prepare_keys

    prepare_keys()
    user("ada@example.com")
    ada = User.objects.get(email="ada@example.com")
    refused = user("greedy@example.com")
    user("redeemer@example.com")
    for tier in ("public", "credential"):
        exhaust(tier, EXHAUSTED)
    exhaust("authenticated", f"user:{refused.pk}:{refused.token_version}")
    access = str(tokens.issue_pair(ada)[0])
    greedy, _ = tokens.issue_pair(refused)
    login = {"email": ada.email, "password": PASSWORD}
    crowd = [user(f"member{number}@example.com") for number in range(32)]
    bearers = [f"Bearer {tokens.issue_pair(member)[0]}" for member in crowd]
    directory_key = [f"Bearer {directory()}"]
    look_up = "/scim/v2/Users?filter=userName+eq+%22p5000%40directory.example%22"
    # One changed character in the middle: of the right form, and by nobody's key.
    forged = access[:-100] + ("A" if access[-100] != "A" else "B") + access[-99:]
    return [
        floor("Django view", "/django"),
        floor("DRF view", "/drf"),
        floor("DRF view, 2 signatures", "/signatures", 400),
        floor("DRF view, hash, 2 signatures", "/sign-in", 60),
        Call("GET /health", 200, [request("GET", "/health")]),
        Call("404", 404, [request("GET", "/unknown")]),
        Call("401", 401, [request("GET", "/auth/me")]),
        get("401 forged token", "/auth/me", [f"Bearer {forged}"], 401),
        Call("429 public", 429, [request("GET", "/unknown", caller=EXHAUSTED)]),
        Call("429 credential", 429, [request("POST", "/auth/login", login, caller=EXHAUSTED)]),
        get("429 authenticated", "/auth/me", [f"Bearer {greedy}"], 429),
        get(ME, "/auth/me", bearers),
        get(ME_METRICS, "/auth/me", bearers, server="metrics"),
        Call("POST /mcp whoami", 200, [whoami(bearer) for bearer in assistants(crowd)]),
        get(CHECK, "/auth/check", bearers, 204),
        get(USERS, "/users", bearers),
        get(USERS_BY_KEY, "/users", [f"Bearer {api_key(member)}" for member in crowd]),
        get(EVENTS, "/events", [f"Bearer {operators_key()}"]),
        get(DIRECTORY_PAGE, "/scim/v2/Users?startIndex=5001&count=100", directory_key, count=100),
        get(LOOK_UP, look_up, directory_key, count=400),
        Call(PROVISION, 201, [], count=200, renew=people_to_provision(directory_key[0])),
        Call("POST /auth/refresh", 200, [], count=400, renew=refresh_tokens),
        Call("POST /auth/login", 200, [request("POST", "/auth/login", login)], count=60),
        Call(
            "POST /auth/signup",
            200,
            [request("POST", "/auth/signup", {"email": f"s{n}@example.com"}) for n in range(500)],
            count=400,
        ),
        Call("POST /auth/complete-signup", 200, [], count=40, renew=signup_links),
        Call("POST /password-changes/redeem", 200, [], count=40, renew=password_links),
    ]


def costs(call: Call) -> tuple[int, int]:
    """Statements to the database, and commands to Redis, of one answer; counted in process."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django_redis import get_redis_connection

    statements = 0

    def count(execute: Any, *args: Any) -> Any:
        nonlocal statements
        statements += 1
        return execute(*args)

    def commands() -> int:
        """Those that a client sent: a script's own are left out."""
        stats = get_redis_connection().info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in SENT)

    method, path, headers, body = next(iter(call.renew(1))) if call.renew else call.requests[0]
    before = commands()
    with connection.execute_wrapper(count):
        client = Client(SERVER_NAME=settings.ALLOWED_HOSTS[0])
        content_type = headers.pop("Content-Type", "")
        answer = client.generic(method, path, body or "", content_type, headers=headers)
    if content_type:
        headers["Content-Type"] = content_type
    if answer.status_code != call.status:
        call.wrong.append(f"{answer.status_code} in process")
    return statements, commands() - before


SENT = ["eval", "evalsha", "script|load", "script", "ping", "get", "hello", "client", "select"]
