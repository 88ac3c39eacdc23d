"""Reads settings from environment variables. A bad value ends the start with one line, which names
the variable and what it must be. It never repeats the value, which may be a secret."""

import contextlib
import os
import re
import secrets
import tempfile
import warnings
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from django.http.request import validate_host
from fido2.rpid import verify_rp_id
from psycopg import ProgrammingError, conninfo
from pydantic import HttpUrl
from redis import ConnectionPool, RedisError

from accounts.breaches import BreachFile

Default = TypeVar("Default")
Choice = TypeVar("Choice", bound=str)
Parsed = TypeVar("Parsed")
Config = dict[str, Any]  # what a server's URL says, by the names of the library that connects
Form = tuple[str, str]  # a pattern, and what a value is that matches it

TEXT = (".+", "not empty")
SENDER = (
    r"[^@<>\s]+@[^@<>\s]+|[^@<>]*<[^@<>\s]+@[^@<>\s]+>",
    "an e-mail address, such as Example <no-reply@example.com>",
)
HTTPS_LINK = (r"(https://[\w.-]+(:\d{1,5})?([/?#]\S*)?)?", "an https address")
DSN = (r"(https?://\w+@[\w.:\[\]-]+/(\S+/)?\d+)?", "a DSN of Sentry")
HOST_NAMES = (
    r"\*|\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\]",
    "host names without scheme, port or path",
)
LENIENT_TIERS = ("authenticated|public", "authenticated or public")
PRIVATE_SCHEMES = (  # RFC 3986 §3.1; browsers keep the excluded ones for themselves
    "(?!(about|blob|data|file|ftp|https?|javascript|vbscript)$)[a-z][a-z0-9+.-]*",
    "private-use URL schemes",
)
VALUES = {  # of libpq's options that take few
    "sslmode": "disable|allow|prefer|require|verify-ca|verify-full",
    "target_session_attrs": "any|read-write|read-only|primary|standby|prefer-standby",
    **dict.fromkeys(["connect_timeout", "tcp_user_timeout"], r"\d{1,9}"),
}
OLD_NAMES = {"DEVICE_LOCKOUT": "LOCKOUT_RELIEF"}  # of 1.0.0; they go with 3.0


def stop(name: str, problem: str) -> NoReturn:
    """End the process. SystemExit, unlike ImproperlyConfigured, passes through manage.py and
    gunicorn without a traceback."""
    raise SystemExit(f"{name}: {problem}")


def given(name: str, default: Default) -> str | Default:
    """The variable's value, or the content of the file that NAME_FILE names, or the default."""
    old = OLD_NAMES.get(name, "")
    if old in os.environ and name not in os.environ:
        warnings.warn(f"{old} is now {name}; the old name goes with 3.0", FutureWarning, 2)
        name = old
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return os.environ.get(name, default)
    if name in os.environ:
        stop(f"{name}_FILE", f"is set, and so is {name}; set one of them")
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        stop(f"{name}_FILE", f"cannot be read ({type(error).__name__})")


def parse(name: str, value: str, parser: Callable[[str], Parsed], expected: str) -> Parsed:
    """What the parser makes of a value; its errors end the start."""
    try:
        return parser(value)
    except (OSError, TypeError, ValueError, ImproperlyConfigured, ProgrammingError, RedisError):
        stop(name, f"must be {expected}")


def require(is_right: object) -> None:
    """For parsers."""
    if not is_right:
        raise ValueError


# ---- Words and numbers -----------------------------------------------------------------------


def text(name: str, default: str, form: Form = TEXT) -> str:
    value = given(name, default)
    if not value.isprintable() or not re.fullmatch(form[0], value):
        stop(name, f"must be {form[1]}")
    return value


def items(name: str, default: str = "") -> list[str]:
    """The items of a comma-separated list."""
    return [item.strip() for item in given(name, default).split(",") if item.strip()]


def names(name: str, default: str, form: Form) -> list[str]:
    """A comma-separated list of values of this form."""
    values = items(name, default)
    if not all(re.fullmatch(form[0], value) for value in values):
        stop(name, f"must be {form[1]}, separated by commas")
    return values


def integer(name: str, default: int, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """A whole number from low to high, both included."""
    value = given(name, str(default))
    if not re.fullmatch("[0-9]{1,20}", value) or not low <= int(value) <= high:
        stop(name, f"must be a whole number from {low} to {high}")
    return int(value)


def choice(name: str, default: Choice, choices: Sequence[Choice]) -> Choice:
    """One of the choices, in upper or lower case."""
    known = {word.lower(): word for word in choices}
    value = given(name, default).lower()
    return known[value] if value in known else stop(name, f"must be one of {', '.join(choices)}")


def boolean(name: str, default: bool) -> bool:
    words = ["true", "1", "yes", "on", "false", "0", "no", "off"]
    return words.index(choice(name, str(default).lower(), words)) < 4


# ---- Secrets and files -----------------------------------------------------------------------


def check_secret(name: str, value: str, length: int = 32) -> str:
    if len(value) < length or not value.isprintable():
        stop(name, f"must have at least {length} printable characters")
    return value


def token(name: str) -> str | None:
    """A secret that callers must send, or None where the variable is unset."""
    value = given(name, None)
    if value is not None and not value.isascii():
        stop(name, "must have ASCII characters only")
    return value if value is None else check_secret(name, value, 16)


def secret_keys(name: str) -> list[str]:
    """Secrets as SECRET_KEY was or will be, separated by commas; none where it is unset."""
    return [check_secret(name, value) for value in items(name)]


def secret_key(name: str, path: Path) -> str:
    """Django's secret: the variable's value, or else the file's, which is made when missing."""
    value = given(name, None)
    if value is None:
        try:
            if not path.exists():
                make_secret(path)
            value = path.read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            stop(name, f"is unset, and {path} cannot be made or read ({type(error).__name__})")
    return check_secret(name, value)


def make_secret(path: Path) -> None:
    """Write a random secret into a private file. It is linked into place once it is complete: of
    processes that start together, all use the file that came first."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".new-") as draft:
        draft.write(secrets.token_urlsafe(48))
        draft.flush()
        with contextlib.suppress(FileExistsError):
            os.link(draft.name, path)


def breach_file(name: str) -> str | None:
    """The path of a file of breached passwords, of which some lines are checked."""
    path = os.environ.get(name)
    if path is not None:
        expected = "a whole file of SHA-1 hashes, one a line, in ascending order"
        parse(name, path, BreachFile, expected)
    return path


# ---- Addresses -------------------------------------------------------------------------------


def network_limits(name: str) -> list[tuple[IPv4Network | IPv6Network, int]]:
    """Limits for networks, the longest prefix first: `203.0.113.0/24=200,2001:db8:1::/48=200`."""
    found: dict[IPv4Network | IPv6Network, int] = {}
    for entry in items(name):
        expected = f"NETWORK=LIMIT, each network once, of IPv6 a /64 or larger: {entry[:60]!r}"
        network, limit = parse(name, entry, network_limit, expected)
        if network in found:
            stop(name, f"must be {expected}")
        found[network] = limit
    return sorted(found.items(), key=lambda item: -item[0].prefixlen)


def network_limit(entry: str) -> tuple[IPv4Network | IPv6Network, int]:
    text, _, limit = entry.partition("=")
    network = ip_network(text)
    require(re.fullmatch("[1-9][0-9]{0,8}", limit))
    require(network.version == 4 or network.prefixlen <= 64)  # as IPv6 callers are counted
    return network, int(limit)


def host_address(name: str, default: str) -> str:
    """An IP address; IPv6 in the brackets that it needs before a port."""
    address = parse(name, given(name, default), ip_address, "an IP address")
    return f"[{address}]" if address.version == 6 else str(address)


def http_url(name: str, default: str) -> str:
    """An http(s) address, without a trailing slash."""
    return as_browsers_write(name, given(name, default), "")


def origin(name: str, default: str) -> str:
    """An http(s) address without a path."""
    return as_browsers_write(name, given(name, default), "path, ")


def origins(name: str) -> list[str]:
    return [as_browsers_write(name, value, "path, ") for value in items(name)]


def as_browsers_write(name: str, value: str, refused: str) -> str:
    """An address with scheme and host in lower case, without a default port (RFC 6454 §6.1)."""
    expected = f"an http or https address without {refused}user name, query or *"
    url = parse(name, value, HttpUrl, expected)
    has_path = bool(refused) and url.path != "/"
    if "*" in value or url.username or url.query or url.fragment or has_path:
        stop(name, f"must be {expected}")
    return str(url).rstrip("/")


def is_own_url(url: str, hosts: Sequence[str], port: int) -> bool:
    """Whether a URL leads to one of ALLOWED_HOSTS, and to no path below it. A loopback address must
    have our port; behind another name a proxy chooses the port."""
    parts = urlsplit(url)
    host = parts.netloc.removesuffix(f":{parts.port}")
    is_elsewhere = host in {"localhost", "127.0.0.1", "[::1]"} and parts.port != port
    return not parts.path and not is_elsewhere and validate_host(host, hosts)


def passkeys(name: str, *urls: str) -> tuple[str, list[str]]:
    """The domain that passkeys belong to, by default the first address's host, and the origins of
    these addresses where it can be used (WebAuthn Level 3 §5.1.3): over https, or on localhost.

    "" where no browser would accept it: an IP address is no domain, and plain http is not trusted.
    """
    value = given(name, urlsplit(urls[0]).hostname or "").lower()
    if re.fullmatch(r"[0-9.]+|.*:.*", value):
        return "", []
    if not value or not any(f".{urlsplit(url).hostname}".endswith(f".{value}") for url in urls):
        stop(name, "must be the host of FRONTEND_URL or SERVICE_URL, or a domain above it")
    origins = dict.fromkeys("{0.scheme}://{0.netloc}".format(urlsplit(url)) for url in urls)
    usable = [origin for origin in origins if verify_rp_id(value, origin)]
    return value if usable else "", usable


# ---- Servers ---------------------------------------------------------------------------------


def database(name: str, default: str) -> Config:
    """An entry of DATABASES; the query has options of libpq, or SQLite's `timeout`."""
    expected = "an address, such as postgres://user:password@host:5432/name?sslmode=require"
    return parse(name, given(name, default), database_config, expected)


def database_config(url: str) -> Config:
    require(url.partition("://")[0] in {"postgres", "postgresql", "sqlite"})
    config: Config = {"OPTIONS": {}} | environ.Env.db_url_config(url)
    options = config["OPTIONS"]
    pooled = config.pop("DISABLE_SERVER_SIDE_CURSORS", "false")
    require(pooled in {"true", "false"})
    # The service settles Django's other options itself.
    require(config.keys() <= {"ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS"})
    if config["ENGINE"].endswith("sqlite3"):
        require(options.keys() <= {"timeout"})
    else:
        conninfo.make_conninfo("", **options)  # refuses what libpq does not know
        require(all(re.fullmatch(VALUES.get(key, ".+"), str(options[key])) for key in options))
    return config | {"DISABLE_SERVER_SIDE_CURSORS": pooled == "true"}


def redis_url(name: str) -> str | None:
    """The address of the limiter's store, or None where the variable is unset or empty."""
    url = given(name, None) or None
    if url and "+" not in url.partition("://")[0]:
        parse(name, url, check_redis_url, "an address, such as redis://:password@host:6379/0")
    return url


def check_redis_url(url: str) -> None:
    ConnectionPool.from_url(url).make_connection()  # reads the options, but does not connect
    require(urlsplit(url).hostname and re.fullmatch(r"/?\d{0,5}", urlsplit(url).path))


def redis_servers(name: str, url: str | None) -> Config | None:
    """Of a redis+sentinel:// or redis+cluster:// address (rediss+… with TLS): the Sentinels or
    nodes, the service that Sentinels watch, and the options of connections. None for one server."""
    if url is None or "+" not in url.partition("://")[0]:
        return None
    expected = "an address, such as redis+sentinel://host,host/mymaster/0"
    return parse(name, url, several_redis, expected)


def several_redis(url: str) -> Config:
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    rest, _, path = rest.partition("/")
    login, _, hosts = rest.rpartition("@")
    username, _, password = map(unquote, login.partition(":"))
    service, _, db = path.partition("/")
    protocol, _, kind = scheme.partition("+")
    is_cluster = kind == "cluster"
    require(protocol in {"redis", "rediss"} and (is_cluster or kind == "sentinel"))
    require(not path if is_cluster else service)
    own_port = 6379 if is_cluster else 26379
    servers = [urlsplit(f"tcp://{host}") for host in hosts.split(",")]
    require(all(server.hostname for server in servers))
    tls: Config = {"ssl": protocol == "rediss"}
    sentinel: Config = {}
    for key, value in parse_qsl(query, strict_parsing=bool(query)):
        require(re.fullmatch("ssl_(ca_certs|certfile|keyfile)|sentinel_(username|password)", key))
        (tls if key.startswith("ssl_") else sentinel)[key.removeprefix("sentinel_")] = value
    options = tls | {"username": username, "password": password, "db": int(db or 0)}
    return {
        "endpoints": [(server.hostname, server.port or own_port) for server in servers],
        "service": service or None,
        "options": {key: value for key, value in options.items() if value},
        "sentinel_options": {key: value for key, value in (tls | sentinel).items() if value},
    }


def email(name: str, default: str) -> Config:
    """Django's settings for an SMTP server, a folder or the console."""
    expected = (
        "an address, such as smtp+tls://user:password@mail.example.com:587, "
        "filemail:////var/mail/outgoing or consolemail://"
    )
    return parse(name, given(name, default), email_config, expected)


def email_config(url: str) -> Config:
    scheme = url.partition("://")[0]
    config: Config = environ.Env.email_url_config(url)
    if scheme == "consolemail":
        config["EMAIL_BACKEND"] = "mail.console.EmailBackend"
    elif scheme == "filemail":
        require(config["EMAIL_FILE_PATH"])
    else:
        require(scheme in {"smtp", "smtps", "smtp+tls", "smtp+ssl"} and config["EMAIL_HOST"])
    # RFC 8314 §3.3: TLS from the first byte has a port of its own.
    config["EMAIL_PORT"] = config["EMAIL_PORT"] or (465 if scheme == "smtp+ssl" else 587)
    return {key: value for key, value in config.items() if value}
