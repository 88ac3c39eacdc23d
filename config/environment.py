"""Reads settings from environment variables. A bad value ends the start with one line, which names
the variable and what it must be. It never repeats the value, which may be a secret."""

import contextlib
import os
import re
import secrets
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from fido2.rpid import verify_rp_id
from psycopg import ProgrammingError, conninfo
from pydantic import HttpUrl
from redis import ConnectionPool, RedisError

from accounts.breaches import BreachFile

Default = TypeVar("Default")
Choice = TypeVar("Choice", bound=str)
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
QUERY_VALUES = {  # patterns of the parameters in DATABASE_URL that take few values
    "sslmode": "disable|allow|prefer|require|verify-ca|verify-full",
    "target_session_attrs": "any|read-write|read-only|primary|standby|prefer-standby",
    "disable_server_side_cursors": "true|false",
    **dict.fromkeys(["timeout", "connect_timeout", "tcp_user_timeout"], r"\d{1,9}"),
    # The service settles these itself: no value is right.
    **dict.fromkeys(["conn_max_age", "conn_health_checks", "atomic_requests", "autocommit"], "a^"),
}


HOST = r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?"
SEVERAL_REDIS = re.compile(
    r"(?P<scheme>rediss?)\+((?P<cluster>cluster)|sentinel)://"
    rf"((?P<username>[^:@/?]*):(?P<password>[^@/?]*)@)?(?P<hosts>{HOST}(,{HOST})*)"
    r"(?(cluster)|/(?P<service>[^/?]+)(/(?P<db>\d{1,5}))?)/?"
    r"(\?(?P<query>((ssl_(ca_certs|certfile|keyfile)|sentinel_(username|password))=[^&]+&?)*))?"
)


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
    value = given(name, default).lower()
    for known in choices:
        if value == known.lower():
            return known
    stop(name, f"must be one of {', '.join(choices)}")


def boolean(name: str, default: bool) -> bool:
    words = ["true", "1", "yes", "on", "false", "0", "no", "off"]
    return words.index(choice(name, str(default).lower(), words)) < 4


def network_limits(name: str) -> list[tuple[IPv4Network | IPv6Network, int]]:
    """Limits for networks, the longest prefix first: `203.0.113.0/24=200,2001:db8:1::/48=200`."""
    found: dict[IPv4Network | IPv6Network, int] = {}
    for entry in items(name):
        text, _, limit = entry.partition("=")
        try:
            network = ip_network(text)
        except ValueError as error:
            stop(name, f"{entry[:60]!r}: {error}")
        if not re.fullmatch("[1-9][0-9]{0,8}", limit) or network in found:
            stop(name, f"{entry[:60]!r} must be NETWORK=LIMIT, each network once")
        if network.version == 6 and network.prefixlen > 64:
            stop(name, f"{entry[:60]!r}: IPv6 callers are counted by their /64 network")
        found[network] = int(limit)
    return sorted(found.items(), key=lambda item: -item[0].prefixlen)


def host_address(name: str, default: str) -> str:
    """An IP address; IPv6 in the brackets that it needs before a port."""
    try:
        parsed = ip_address(given(name, default))
    except ValueError:
        stop(name, "must be an IP address")
    return f"[{parsed}]" if parsed.version == 6 else str(parsed)


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
    try:
        url = HttpUrl(value)
    except ValueError:
        stop(name, "must be an http or https address")
    has_path = bool(refused) and url.path != "/"
    if "*" in value or url.username or url.query or url.fragment or has_path:
        stop(name, f"must be an http or https address without {refused}user name, query or *")
    return str(url).rstrip("/")


def is_own_url(url: str, hosts: Sequence[str], port: int) -> bool:
    """Whether a URL leads to one of ALLOWED_HOSTS, and to no path below it. A loopback address must
    have our port; behind another name a proxy chooses the port."""
    parts = urlsplit(url)
    host = parts.netloc.removesuffix(f":{parts.port}")
    if parts.path or (host in {"localhost", "127.0.0.1", "[::1]"} and parts.port != port):
        return False
    domain = [name.lower() for name in hosts if f".{host}".endswith(name.lower())]
    return "*" in hosts or any(name == host or name.startswith(".") for name in domain)


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


def check_secret(name: str, value: str, length: int) -> str:
    if len(value) < length or not value.isprintable():
        stop(name, f"must have at least {length} printable characters")
    return value


def token(name: str) -> str | None:
    """A secret that callers must send, or None where the variable is unset."""
    value = given(name, None)
    if value is None:
        return None
    if not value.isascii():
        stop(name, "must have ASCII characters only")
    return check_secret(name, value, 16)


def secret_keys(name: str) -> list[str]:
    """Secrets as SECRET_KEY was or will be, separated by commas; none where it is unset."""
    return [check_secret(name, value, 32) for value in items(name)]


def secret_key(name: str, path: Path) -> str:
    """Django's secret: the variable's value, or else the file's, which is made when missing."""
    value = given(name, None)
    if value is None:
        try:
            if not path.exists():
                write_once(path, secrets.token_urlsafe(48).encode())
            value = path.read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            stop(name, f"is unset, and {path} cannot be made or read ({type(error).__name__})")
    return check_secret(name, value, 32)


def write_once(path: Path, content: bytes) -> None:
    """Write a private file (mode 0600) whole or not at all; one that is there stays as it is.

    A complete draft is hard-linked into place: of processes that start together all find the file
    that came first, and none reads half of one.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-") as draft:
        draft.write(content)
        draft.flush()
        if os.geteuid() == 0:  # root makes it for the service's user
            os.fchown(draft.fileno(), path.parent.stat().st_uid, path.parent.stat().st_gid)
        os.fsync(draft.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft.name, path)


def breach_file(name: str) -> str | None:
    """The path of a file of breached passwords, of which some lines are checked."""
    path = os.environ.get(name)
    try:
        if path is not None:
            BreachFile(path)
    except (OSError, ValueError):
        stop(name, "must be a whole file of SHA-1 hashes, one a line, in ascending order")
    return path


def server_url(name: str, default: str, schemes: Sequence[str]) -> str:
    value = given(name, default)
    if value.partition("://")[0] not in schemes or "://" not in value:
        stop(name, f"must begin with {', '.join(f'{scheme}://' for scheme in schemes)}")
    return value


def database(name: str, default: str) -> Config:
    """An entry of DATABASES; the query has options of libpq, or SQLite's `timeout`."""
    url = server_url(name, default, ["postgres", "postgresql", "sqlite"])
    query = parse_qsl(url.partition("?")[2], keep_blank_values=True)
    options = {key.lower(): value for key, value in query}
    known = all(re.fullmatch(QUERY_VALUES.get(key, ".+"), options[key]) for key in options)
    try:
        config: Config = {"OPTIONS": {}} | environ.Env.db_url_config(url)
        if not config["ENGINE"].endswith("sqlite3"):
            conninfo.make_conninfo("", **config["OPTIONS"])  # refuses what libpq does not know
        elif options.keys() - {"timeout"}:
            known = False
    except (ValueError, ImproperlyConfigured, ProgrammingError):
        known = False
    if not known or len(options) < len(query):
        example = "postgres://user:password@host:5432/name?sslmode=require"
        stop(name, f"must be an address, such as {example}")
    pooled = config.get("DISABLE_SERVER_SIDE_CURSORS") == "true"
    return config | {"DISABLE_SERVER_SIDE_CURSORS": pooled}


def redis_url(name: str) -> str | None:
    """The address of the limiter's store, or None where the variable is unset or empty."""
    url = given(name, None) or None
    if url is None or "+" in url.partition("://")[0]:
        return url
    try:
        ConnectionPool.from_url(url).make_connection()  # reads the options, but does not connect
        parts = urlsplit(url)
        is_address = bool(parts.hostname) and bool(re.fullmatch(r"/?\d{0,5}", parts.path))
    except (TypeError, ValueError, RedisError):
        is_address = False
    if not is_address:
        stop(name, "must be an address, such as redis://:password@host:6379/0")
    return url


def redis_servers(name: str, url: str | None) -> Config | None:
    """Of a redis+sentinel:// or redis+cluster:// address (rediss+… with TLS): the Sentinels or
    nodes, the service that Sentinels watch, and the options of connections. None for one server."""
    if url is None or "+" not in url.partition("://")[0]:
        return None
    found = SEVERAL_REDIS.fullmatch(url)
    try:
        hosts = [urlsplit(f"tcp://{host}") for host in found["hosts"].split(",")] if found else []
        ports = [host.port for host in hosts]
    except ValueError:
        found = None
    if not found:
        stop(name, "must be an address, such as redis+sentinel://host,host/mymaster/0")
    port = 6379 if found["cluster"] else 26379
    query = dict(parse_qsl(found["query"] or ""))
    tls: Config = {key: value for key, value in query.items() if key.startswith("ssl_")}
    tls["ssl"] = found["scheme"] == "rediss"
    login = {key: unquote(found[key] or "") for key in ("username", "password")}
    options = tls | login | {"db": int(found["db"] or 0)}
    sentinel = tls | {key: query.get(f"sentinel_{key}") for key in login}
    return {
        "endpoints": [(host.hostname, own or port) for host, own in zip(hosts, ports, strict=True)],
        "service": found["service"],
        "options": {key: value for key, value in options.items() if value},
        "sentinel_options": {key: value for key, value in sentinel.items() if value},
    }


def email(name: str, default: str) -> Config:
    """Django's settings for an SMTP server, a folder or the console."""
    smtp = ["smtp", "smtps", "smtp+tls", "smtp+ssl"]
    url = server_url(name, default, [*smtp, "filemail", "consolemail"])
    scheme = url.partition("://")[0]
    try:
        config: Config = environ.Env.email_url_config(url)
    except ValueError:
        config = {"EMAIL_HOST": None, "EMAIL_FILE_PATH": None}
    if scheme in smtp and not config["EMAIL_HOST"]:
        stop(name, "must be an address, such as smtp+tls://user:password@mail.example.com:587")
    if scheme == "filemail" and not config["EMAIL_FILE_PATH"]:
        stop(name, "must name a folder, such as filemail:////var/mail/outgoing")
    if scheme == "consolemail":
        config["EMAIL_BACKEND"] = "mail.console.EmailBackend"
    # RFC 8314 §3.3: TLS from the first byte has a port of its own.
    config["EMAIL_PORT"] = config["EMAIL_PORT"] or (465 if scheme == "smtp+ssl" else 587)
    return {key: value for key, value in config.items() if value}


def commit(folder: Path) -> str:
    """The commit of the code in the folder: COMMIT's value, which an image's build sets, else what
    git says of a checkout, else "unknown"."""
    if "COMMIT" in os.environ:
        return text("COMMIT", "")
    command = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    with contextlib.suppress(OSError):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() or "unknown"
    return "unknown"
