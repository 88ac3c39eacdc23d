"""Reads settings from environment variables. A bad value ends the start with one line, which names
the variable and what it must be. It never repeats the value, which may be a secret."""

import contextlib
import ipaddress
import os
import re
import secrets
import subprocess
import tempfile
from collections.abc import Sequence
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

Choice = TypeVar("Choice", bound=str)
Config = dict[str, Any]  # what a server's URL says, by the names of the library that connects


def stop(name: str, problem: str) -> NoReturn:
    """End the process. SystemExit, unlike ImproperlyConfigured, passes through manage.py and
    gunicorn without a traceback."""
    raise SystemExit(f"{name}: {problem}")


def given(name: str) -> str | None:
    """The variable's value, or else the content of the file that NAME_FILE names."""
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return os.environ.get(name)
    if name in os.environ:
        stop(f"{name}_FILE", f"is set, and so is {name}; set one of them")
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        stop(f"{name}_FILE", f"cannot be read ({type(error).__name__})")


def text(name: str, default: str, pattern: str = ".+", kind: str = "not empty") -> str:
    """Printable text that matches the pattern."""
    value = os.environ.get(name, default)
    if not value.isprintable() or not re.fullmatch(pattern, value):
        stop(name, f"must be {kind}")
    return value


def sender(name: str, default: str) -> str:
    address = r"[^@<>\s]+@[^@<>\s]+"
    kind = "an e-mail address, such as Example <no-reply@example.com>"
    return text(name, default, rf"{address}|[^@<>]*<{address}>", kind)


def https_link(name: str) -> str:
    """The address of a page elsewhere, for people to follow; "" where the variable is empty."""
    return text(name, "", r"(https://[\w.-]+(:\d{1,5})?([/?#]\S*)?)?", "an https address")


def integer(name: str, default: int, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """A whole number from low to high, both included."""
    value = os.environ.get(name, str(default))
    if not re.fullmatch("[0-9]{1,20}", value) or not low <= int(value) <= high:
        stop(name, f"must be a whole number from {low} to {high}")
    return int(value)


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def network_limits(name: str) -> list[tuple[Network, int]]:
    """Limits for networks, the longest prefix first: `203.0.113.0/24=200,2001:db8:1::/48=200`."""
    found: dict[Network, int] = {}
    for entry in os.environ.get(name, "").split(","):
        if not entry.strip():
            continue
        text, _, limit = entry.strip().partition("=")
        try:
            network = caller_network(text)
        except ValueError as error:
            stop(name, f"{entry.strip()[:60]!r}: {error}")
        if not re.fullmatch("[1-9][0-9]{0,8}", limit) or network in found:
            stop(name, f"{entry.strip()[:60]!r} must be NETWORK=LIMIT, each network once")
        found[network] = int(limit)
    return sorted(found.items(), key=lambda item: -item[0].prefixlen)


def caller_network(text: str) -> Network:
    """A network of addresses that requests are counted by. Raises ValueError."""
    network = ipaddress.ip_network(text)
    if network.version == 4:
        return network
    mapped = network.network_address.ipv4_mapped
    if mapped and network.prefixlen >= 96:
        return ipaddress.ip_network((mapped, network.prefixlen - 96))
    if network.prefixlen > 64:
        raise ValueError("IPv6 callers are counted by their /64 network")
    return network


def choice(name: str, default: Choice, choices: Sequence[Choice]) -> Choice:
    """One of the choices, in upper or lower case."""
    value = os.environ.get(name, default)
    for known in choices:
        if value.lower() == known.lower():
            return known
    stop(name, f"must be one of {', '.join(choices)}")


def boolean(name: str, default: bool) -> bool:
    words = ["true", "1", "yes", "on", "false", "0", "no", "off"]
    return words.index(choice(name, str(default).lower(), words)) < 4


def names(name: str, default: str, pattern: str, kind: str) -> list[str]:
    """A comma-separated list, each item of which matches the pattern."""
    values = [item.strip() for item in os.environ.get(name, default).split(",") if item.strip()]
    if not all(re.fullmatch(pattern, value) for value in values):
        stop(name, f"must be {kind}, separated by commas")
    return values


def host_names(name: str, default: str) -> list[str]:
    pattern = r"\*|\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\]"
    return names(name, default, pattern, "host names without scheme, port or path")


def schemes(name: str) -> list[str]:
    """URL schemes (RFC 3986 §3.1) that native programs have taken for themselves."""
    browsers = "about|blob|data|file|ftp|https?|javascript|vbscript"
    return names(name, "", rf"(?!({browsers})$)[a-z][a-z0-9+.-]*", "private-use URL schemes")


def ip_address(name: str, default: str) -> str:
    """An IP address; IPv6 in the brackets that it needs before a port."""
    try:
        parsed = ipaddress.ip_address(os.environ.get(name, default))
    except ValueError:
        stop(name, "must be an IP address")
    return f"[{parsed}]" if parsed.version == 6 else str(parsed)


def http_url(name: str, default: str, *, origin: bool = False) -> str:
    """An http(s) address, without a trailing slash; an origin has no path either."""
    return site(name, os.environ.get(name, default), origin)


def origins(name: str) -> list[str]:
    values = os.environ.get(name, "").split(",")
    return [site(name, value, is_origin=True) for value in values if value.strip()]


def site(name: str, value: str, is_origin: bool) -> str:
    """An address as browsers write it (RFC 6454 §6.1): scheme and host in lower case, no default
    port."""
    try:
        url = HttpUrl(value)
    except ValueError:
        stop(name, "must be an http or https address")
    if "*" in value or url.username or url.query or url.fragment or (is_origin and url.path != "/"):
        kind = "path, " if is_origin else ""
        stop(name, f"must be an http or https address without {kind}user name, query or wildcard")
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
    value = os.environ.get(name, urlsplit(urls[0]).hostname or "").lower()
    if re.fullmatch(r"[0-9.]+|.*:.*", value):
        return "", []
    hosts = [urlsplit(url).hostname or "" for url in urls]
    if not value or not any(f".{host}".endswith(f".{value}") for host in hosts):
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
    value = given(name)
    if value is not None and not value.isascii():
        stop(name, "must have ASCII characters only")
    return value if value is None else check_secret(name, value, 16)


def secret_keys(name: str) -> list[str]:
    """Secrets as SECRET_KEY was or will be, separated by commas; none where it is unset."""
    values = [value.strip() for value in (given(name) or "").split(",")]
    return [check_secret(name, value, 32) for value in values if value]


def write_once(path: Path, content: bytes) -> None:
    """Write a private file (mode 0600) whole or not at all; one that is there stays as it is.

    A complete draft is hard-linked into place: of processes that start together all find the file
    that came first, and none reads half of one.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-") as draft:
        draft.write(content)
        draft.flush()
        if os.geteuid() == 0:  # root makes it for whoever runs the service
            folder = path.parent.stat()
            os.fchown(draft.fileno(), folder.st_uid, folder.st_gid)
        os.fsync(draft.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft.name, path)


def secret_key(name: str, path: Path) -> str:
    """Django's secret: the variable's value, or else the file's, which is made when missing."""
    value = given(name)
    if value is None:
        try:
            if not path.exists():
                write_once(path, secrets.token_urlsafe(48).encode())
            value = path.read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            stop(name, f"is unset, and {path} cannot be made or read ({type(error).__name__})")
    return check_secret(name, value, 32)


def breach_file(name: str) -> str | None:
    """The path of a file of breached passwords, of which some lines are checked."""
    path = os.environ.get(name)
    try:
        if path is not None:
            BreachFile(path)
    except OSError as error:
        stop(name, f"cannot be read ({type(error).__name__})")
    except ValueError:
        stop(name, "must be a whole file of SHA-1 hashes, one a line, in ascending order")
    return path


# ---- Servers ---------------------------------------------------------------------------------

QUERY_VALUES = {  # patterns of the parameters in DATABASE_URL that take few values
    "sslmode": "disable|allow|prefer|require|verify-ca|verify-full",
    "target_session_attrs": "any|read-write|read-only|primary|standby|prefer-standby",
    "disable_server_side_cursors": "true|false",
    **dict.fromkeys(["timeout", "connect_timeout", "tcp_user_timeout"], r"\d{1,9}"),
    # The service settles these itself: no value is right.
    **dict.fromkeys(["conn_max_age", "conn_health_checks", "atomic_requests", "autocommit"], "a^"),
}
HOST = r"(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?"
SEVERAL = re.compile(
    r"(?P<scheme>rediss?)\+((?P<cluster>cluster)|sentinel)://"
    rf"((?P<username>[^:@/?]*):(?P<password>[^@/?]*)@)?(?P<hosts>{HOST}(,{HOST})*)"
    r"(?(cluster)|/(?P<service>[^/?]+)(/(?P<db>\d{1,5}))?)/?"
    r"(\?(?P<query>((ssl_(ca_certs|certfile|keyfile)|sentinel_(username|password))=[^&]+&?)*))?"
)


def server_url(name: str, default: str, schemes: Sequence[str]) -> str:
    value = given(name)
    value = default if value is None else value
    if not re.match(rf"({'|'.join(map(re.escape, schemes))})://", value):
        stop(name, f"must begin with {', '.join(f'{scheme}://' for scheme in schemes)}")
    return value


def database(name: str, default: str) -> Config:
    """An entry of DATABASES; the query has options of libpq, or SQLite's `timeout`."""
    url = server_url(name, default, ["postgres", "postgresql", "sqlite"])
    query = parse_qsl(url.partition("?")[2], keep_blank_values=True)
    keys = [key for key, _ in query]
    for key, value in query:
        if not re.fullmatch("[a-z_]+", key):  # may be part of a password with a question mark
            stop(name, "has a bad query")
        if keys.count(key) != 1 or not re.fullmatch(QUERY_VALUES.get(key, ".+"), value):
            stop(name, f"has a bad query parameter: {key}")
    try:
        config: Config = {"OPTIONS": {}} | environ.Env.db_url_config(url)
        if config["ENGINE"].endswith("sqlite3") and set(keys) - {"timeout"}:
            stop(name, "has a bad query parameter: SQLite takes timeout=SECONDS")
        if not config["ENGINE"].endswith("sqlite3"):
            conninfo.make_conninfo("", **config["OPTIONS"])
    except (ValueError, ImproperlyConfigured):
        stop(name, "must be an address, such as postgres://user:password@host:5432/name")
    except ProgrammingError as error:  # in libpq's words, which name the parameter
        stop(name, f"has a bad query parameter: {error}".strip())
    return config | {
        "DISABLE_SERVER_SIDE_CURSORS": config.get("DISABLE_SERVER_SIDE_CURSORS") == "true"
    }


def redis_url(name: str) -> str | None:
    """The address of the limiter's store, or None where the variable is unset or empty."""
    url = given(name) or None
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
    found = SEVERAL.fullmatch(url)
    try:
        if not found:
            raise ValueError
        hosts = [urlsplit(f"tcp://{host}") for host in found["hosts"].split(",")]
        port = 6379 if found["cluster"] else 26379
        endpoints = [(host.hostname or "", host.port or port) for host in hosts]
    except ValueError:
        stop(name, "must be an address, such as redis+sentinel://host,host/mymaster/0")
    query = dict(parse_qsl(found["query"] or ""))
    tls: Config = {key: value for key, value in query.items() if key.startswith("ssl_")}
    if found["scheme"] == "rediss":
        tls["ssl"] = True
    login = {key: unquote(found[key] or "") for key in ("username", "password")}
    options = tls | login | {"db": int(found["db"] or 0)}
    sentinel = tls | {key: query.get(f"sentinel_{key}") for key in login}
    return {
        "endpoints": endpoints,
        "service": found["service"],
        "options": {key: value for key, value in options.items() if value},
        "sentinel_options": {key: value for key, value in sentinel.items() if value},
    }


def email(name: str, default: str) -> Config:
    """Django's settings for an SMTP server, a folder or the console."""
    smtp = ["smtp", "smtps", "smtp+tls", "smtp+ssl"]
    url = server_url(name, default, [*smtp, "filemail", "consolemail"])
    try:
        config: Config = environ.Env.email_url_config(url)
    except ValueError:
        config = {"EMAIL_HOST": None, "EMAIL_FILE_PATH": None}
    scheme = url.partition("://")[0]
    if scheme in smtp and not config["EMAIL_HOST"]:
        stop(name, "must be an address, such as smtp+tls://user:password@mail.example.com:587")
    if scheme == "filemail" and not config["EMAIL_FILE_PATH"]:
        stop(name, "must name a folder, such as filemail:////var/mail/outgoing")
    # RFC 8314 §3.3: TLS from the first byte has a port of its own.
    config["EMAIL_PORT"] = config["EMAIL_PORT"] or (465 if scheme == "smtp+ssl" else 587)
    return config


def commit(folder: Path) -> str:
    """The commit of the code in the folder: COMMIT's value, which an image's build sets, else what
    git says of a checkout, else "unknown"."""
    if "COMMIT" in os.environ:
        return text("COMMIT", "unknown")
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()
