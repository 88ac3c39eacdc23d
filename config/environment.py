"""Typed reading of environment variables; a bad value ends the start with one line."""

import ipaddress
import os
import re
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

import environ
from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.http.request import split_domain_port, validate_host
from fido2.rpid import verify_rp_id
from redis import ConnectionPool, RedisError
from redis.connection import parse_url

from keys.files import write_once


def stop(name: str, problem: str, example: str) -> NoReturn:
    """End the process with one line that names the variable, its problem and an example.

    SystemExit rather than ImproperlyConfigured, because manage.py and gunicorn both let it through
    without a traceback.
    """
    raise SystemExit(f"{name}: {problem}; example: {name}={example}")


def given(name: str) -> str | None:
    """A secret's value: the variable's, or else the content of the file that NAME_FILE names.

    None where neither is set. An empty file is an empty value, which its reader refuses.
    """
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return os.environ.get(name)
    example = f"/run/secrets/{name.lower()}"
    if name in os.environ:
        stop(f"{name}_FILE", f"is set, and {name} too: give one of them", example)
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is no text"
        stop(f"{name}_FILE", f"{path!r} cannot be read ({problem})", example)


def text(name: str, default: str, *, example: str | None = None) -> str:
    """A value that must not be empty nor carry control characters."""
    value = os.environ.get(name, default)
    if not value.strip() or not value.isprintable():
        stop(name, "must not be empty or hold control characters", example or default)
    return value


def integer(name: str, default: int, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """A whole number from low to high, both included."""
    value = os.environ.get(name, str(default))
    digits = value.isascii() and value.isdigit() and len(value) <= 20  # Python reads 4,300
    if not digits or not low <= int(value) <= high:
        stop(name, f"{value[:50]!r} is not a whole number from {low} to {high}", str(default))
    return int(value)


def boolean(name: str, default: bool) -> bool:
    """`true` or `false` (also 1/0, yes/no, on/off, in any case)."""
    value = os.environ.get(name, str(default)).lower()
    if value in {"true", "1", "yes", "on"}:
        return True
    if value in {"false", "0", "no", "off"}:
        return False
    stop(name, f"{value!r} is neither true nor false", str(default).lower())


def choice(name: str, default: str, choices: Sequence[str]) -> str:
    """One of the choices, compared without regard to case."""
    value = os.environ.get(name, default)
    for known in choices:
        if value.lower() == known.lower():
            return known
    stop(name, f"{value!r} is none of {', '.join(choices)}", default)


def names(name: str, default: str, *, example: str) -> list[str]:
    """A comma-separated list; spaces around the items do not count."""
    values = [item.strip() for item in os.environ.get(name, default).split(",")]
    values = [item for item in values if item]
    if any(not item.isprintable() or " " in item for item in values):
        stop(name, "is no comma-separated list", example)
    return values


SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")  # RFC 3986 §3.1
BROWSERS_OWN = {"about", "blob", "data", "file", "ftp", "http", "https", "javascript", "vbscript"}


def schemes(name: str, *, example: str) -> list[str]:
    """A comma-separated list of schemes that programs have taken for themselves."""
    found = names(name, "", example=example)
    for scheme in found:
        if not SCHEME.fullmatch(scheme) or scheme in BROWSERS_OWN:
            stop(name, f"{scheme!r} is no private-use scheme", example)
    return found


HOST = re.compile(r"\*|\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\]", re.IGNORECASE)


def host_names(name: str, default: str, *, example: str) -> list[str]:
    """A comma-separated list of host names, without scheme, port or path."""
    hosts = names(name, default, example=example)
    for host in hosts:
        if not HOST.fullmatch(host):
            stop(name, f"{host!r} is no host name (no scheme, port or path)", example)
    return hosts


def ip_address(name: str, default: str) -> str:
    """An IP address, in the brackets that IPv6 needs before a port."""
    value = os.environ.get(name, default)
    try:
        parsed = ipaddress.ip_address(value)
    except ValueError:
        stop(name, f"{value!r} is no IP address", default)
    return f"[{parsed}]" if parsed.version == 6 else str(parsed)


def token(name: str) -> str | None:
    """A secret that a caller must bring, or None where the variable is unset."""
    value = given(name)
    if value is not None and (len(value) < 16 or not value.isascii() or not value.isprintable()):
        stop(name, "must be at least 16 printable ASCII characters", "$(openssl rand -base64 24)")
    return value


def directory(name: str, default: Path) -> Path:
    """A folder, as an absolute path; it need not exist yet."""
    path = Path(text(name, str(default), example="/var/lib/consulting")).expanduser().absolute()
    if path.exists() and not path.is_dir():
        stop(name, f"{str(path)!r} is not a folder", "/var/lib/consulting")
    return path


DEFAULT_PORTS = {"http": 80, "https": 443}


def address_parts(value: str, *schemes: str) -> SplitResult | None:
    """A network address taken apart, or None where it is none of these schemes'."""
    try:
        parts = urlsplit(value)
        valid = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if valid else None


def http_url(name: str, value: str, *, origin: bool = False) -> str:
    """An http(s) address as browsers write it (RFC 6454 §6.1): scheme and host in lower case, no
    default port, no trailing slash. An origin has no path either."""
    example = "https://app.example.com"
    parts = address_parts(value, "http", "https")
    if not parts or not value.isprintable() or " " in value or parts.query or parts.fragment:
        stop(name, f"{value!r} is no http or https address", example)
    host = parts.hostname or ""
    if "*" in host or "@" in parts.netloc:
        stop(name, f"{value!r} names no one host: wildcards and user names are not known", example)
    if origin and parts.path not in {"", "/"}:
        stop(name, f"{value!r} is no origin: it has a path", example)
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in {None, DEFAULT_PORTS[parts.scheme]} else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{parts.path}".rstrip("/")


def https_link(name: str) -> str:
    """The address of a page elsewhere, for people to follow; "" where there is none."""
    value = os.environ.get(name, "")
    parts = address_parts(value, "https")
    if value and (not parts or not value.isprintable() or " " in value or "@" in parts.netloc):
        stop(name, f"{value!r} is no https address", "https://www.example.com/terms")
    return value


def passkeys(name: str, *urls: str) -> tuple[str, list[str]]:
    """The domain that passkeys belong to, by default the first address's host, and the origins of
    these addresses where it is used (WebAuthn Level 3 §5.1.3): over https, or on localhost.

    "" where no browser would take it: an IP address is no domain, and plain http is not trusted.
    """
    value = os.environ.get(name, urlsplit(urls[0]).hostname or "").lower()
    if is_ip_address(value.strip("[]")):
        return "", []
    hosts = [urlsplit(url).hostname or "" for url in urls]
    if not any(f".{host}".endswith(f".{value}") for host in hosts) or not value:
        stop(name, f"{value!r} is no domain of FRONTEND_URL's or SERVICE_URL's", "example.com")
    origins = ["{0.scheme}://{0.netloc}".format(urlsplit(url)) for url in urls]
    usable = [origin for origin in dict.fromkeys(origins) if verify_rp_id(value, origin)]
    return value if usable else "", usable


def is_ip_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_own_address(url: str, hosts: Sequence[str], port: int) -> bool:
    """Whether an address leads to this service: one of its hosts as Django knows them (wildcards
    included), and no path below it.

    A loopback host must come with our port; another name's port is its proxy's.
    """
    parts = urlsplit(url)
    host, _ = split_domain_port(parts.netloc)
    if parts.path or not host or not validate_host(host, hosts):
        return False
    return host not in {"localhost", "127.0.0.1", "[::1]"} or parts.port == port


def address(name: str, default: str) -> str:
    """An e-mail sender, with or without a display name."""
    value = text(name, default)
    mailbox = value.rpartition("<")[2].rstrip(">") if value.endswith(">") else value
    try:
        EmailValidator(allowlist=["localhost"])(mailbox)
    except ValidationError:
        stop(name, f"{value!r} is no e-mail address", "no-reply@example.com")
    return value


def url_config(
    name: str,
    default: str,
    schemes: Sequence[str],
    parse: Callable[[str], dict[str, Any]],
    example: str,
) -> dict[str, Any]:
    """A service's address, read by one of django-environ's parsers.

    The value is never repeated in the message: it may hold a password.
    """
    value = given(name)
    value = default if value is None else value
    scheme, separator, _ = value.partition("://")
    if not separator or scheme not in schemes:
        stop(name, f"must begin with one of {', '.join(s + '://' for s in schemes)}", example)
    try:
        return parse(value)
    except (ValueError, environ.ImproperlyConfigured):
        stop(name, "is no valid address", example)


def database_config(value: str) -> dict[str, Any]:
    """django-environ's reading of DATABASE_URL as an entry of DATABASES, and what it lets pass."""
    config: dict[str, Any] = {"OPTIONS": {}} | environ.Env.db_url_config(value)
    is_sqlite = config["ENGINE"].endswith("sqlite3")
    problem = (
        query_problem(urlsplit(value).query)
        or (sqlite_problem if is_sqlite else libpq_problem)(config["OPTIONS"])
        or hosts_problem(config)
    )
    if problem:
        stop("DATABASE_URL", problem, "postgres://user:password@127.0.0.1:5432/consulting")
    pooled = config.get("DISABLE_SERVER_SIDE_CURSORS", False)
    return config | {"DISABLE_SERVER_SIDE_CURSORS": str(pooled).lower() == "true"}


def query_problem(query: str) -> str | None:
    """What is wrong with the query of a database's address: what is empty, comes twice, or is not
    the address's to say."""
    reserved = {"conn_max_age", "conn_health_checks", "atomic_requests", "autocommit"}
    pairs = [(key.lower(), value) for key, value in parse_qsl(query, keep_blank_values=True)]
    names = [key for key, _ in pairs]
    for key, value in pairs:
        if not value or key in reserved or names.count(key) > 1:
            return f"has a query parameter that is empty, there twice, or not allowed: {key}"
        if key == "disable_server_side_cursors" and value not in {"true", "false"}:
            return f"has a query parameter that is neither true nor false: {key}"
    return None


def sqlite_problem(options: dict[str, Any]) -> str | None:
    """SQLite takes `timeout`, the seconds to wait for another writer."""
    if set(options) <= {"timeout"} and all(isinstance(value, int) for value in options.values()):
        return None
    return "has a query parameter other than timeout=SECONDS"


def libpq_problem(options: dict[str, Any]) -> str | None:
    """What PostgreSQL's client library has against connection options, in its own words.

    It judges them when a connection begins: here one that gets no further, to a socket in a folder
    that there cannot be. Numbers it reads only later.
    """
    from psycopg import ProgrammingError, conninfo, pq

    for key, value in options.items():
        if key.startswith(("connect_", "keepalives", "tcp_")) and not isinstance(value, int):
            return f"has a query parameter that is no whole number: {key}"
    nowhere = {"host": "/dev/null/nowhere", "hostaddr": None}
    try:
        attempt = conninfo.make_conninfo("", **options | nowhere)
    except ProgrammingError as error:
        return str(error).strip()
    connection = pq.PGconn.connect_start(attempt.encode())
    words = connection.get_error_message().strip()
    connection.finish()
    return None if "/dev/null/nowhere" in words else words


def hosts_problem(config: dict[str, Any]) -> str | None:
    """Of several hosts each has a port, or none has: else the wrong one would get it."""
    ports = str(config.get("PORT") or "")
    if ports and ports.count(",") != config["HOST"].count(","):
        return "must give each host its port, or none of them"
    return None


def redis_url(name: str) -> str | None:
    """The address of the limiter's store, or None where the variable is unset or empty."""
    value = given(name) or None
    if value is None or "+" in value.partition("://")[0]:
        return value
    example = "redis://127.0.0.1:6379/0"
    parts = address_parts(value, "redis", "rediss")
    if not parts or parts.path.strip("/0123456789"):
        forms = "redis://host:port/number or rediss://host:port/number"
        stop(name, f"must be {forms}, or redis+sentinel:// or redis+cluster://", example)
    redis_options(name, value, example)
    return value


def redis_options(name: str, url: str, example: str) -> dict[str, Any]:
    """What a redis:// or rediss:// address says beside host and port."""
    try:
        ConnectionPool.from_url(url).make_connection()  # which connects when it is used
    except (TypeError, ValueError, RedisError) as error:
        stop(name, f"has a bad query parameter: {error}", example)
    options = parse_url(url)  # type: ignore[no-untyped-call]
    return {k: options[k] for k in options if k not in {"host", "port", "connection_class"}}


SEVERAL_SERVERS = re.compile(
    r"(?P<scheme>rediss?)\+(?P<kind>sentinel|cluster)://(?:(?P<login>[^@/?]*)@)?(?P<hosts>[^/?@]+)"
    r"(?P<path>/[^?]*)?(?:\?(?P<query>.*))?"
)
SEVERAL_EXAMPLES = {
    "cluster": "redis+cluster://10.0.0.1:7000,10.0.0.2:7000",
    "sentinel": "redis+sentinel://10.0.0.1:26379,10.0.0.2:26379/mymaster/0",
}


def redis_servers(name: str, url: str | None) -> dict[str, Any] | None:
    """The servers of a redis+sentinel:// or redis+cluster:// address (rediss+… with TLS), or None
    for one server's: `addresses`, the Sentinels' `service` (None for a Cluster), the `options` of a
    connection, and `sentinel_options` of one to a Sentinel."""
    if url is None or "+" not in url.partition("://")[0]:
        return None
    found = SEVERAL_SERVERS.fullmatch(url)
    if not found:
        stop(name, "is no address of Sentinels or of a Cluster", SEVERAL_EXAMPLES["sentinel"])
    example = SEVERAL_EXAMPLES[found["kind"]]
    service, database = service_and_database(name, found, example)
    query = dict(parse_qsl(found["query"] or ""))
    logins = {key: query.pop(f"sentinel_{key}", None) for key in ("username", "password")}
    login = f"{found['login']}@" if found["login"] else ""
    one = f"{found['scheme']}://{login}host:1/{database}?{urlencode(query)}"
    options = redis_options(name, one, example)
    if found["scheme"] == "rediss":
        options["ssl"] = True
    tls = {key: value for key, value in options.items() if key.startswith("ssl")}
    port = 6379 if found["kind"] == "cluster" else 26379
    hosts = found["hosts"].split(",")
    return {
        "addresses": [host_and_port(name, host, port, example) for host in hosts],
        "service": service or None,
        "options": options,
        "sentinel_options": tls | {key: value for key, value in logins.items() if value},
    }


def service_and_database(name: str, found: re.Match[str], example: str) -> tuple[str, str]:
    """Of the address's path: /mymaster/0, and nothing for a Cluster."""
    service, _, database = (found["path"] or "").strip("/").partition("/")
    if found["kind"] == "cluster" and service:
        stop(name, "names a database: a Cluster has but one", example)
    if found["kind"] == "sentinel" and (not service or database.strip("0123456789")):
        stop(name, "must name the service, and perhaps the number of a database", example)
    return service, database


def host_and_port(name: str, text: str, port: int, example: str) -> tuple[str, int]:
    parts = address_parts(f"tcp://{text}", "tcp")
    if not parts or not parts.hostname or parts.path:
        stop(name, f"{text!r} is no host:port", example)
    return parts.hostname, parts.port or port


def email_config(value: str) -> dict[str, Any]:
    """django-environ's reading of EMAIL_URL, and what it lets pass; ValueError for no address."""
    config: dict[str, Any] = environ.Env.email_url_config(value)
    scheme = value.partition("://")[0]
    if scheme.startswith("smtp") and not config["EMAIL_HOST"]:
        stop("EMAIL_URL", "names no host", "smtp+tls://user:password@mail.example.com:587")
    if scheme == "filemail" and not config["EMAIL_FILE_PATH"]:
        stop("EMAIL_URL", "names no folder", "filemail:////var/mail/outgoing")
    # RFC 8314 §3.3: TLS from the first byte has a port of its own.
    config["EMAIL_PORT"] = config["EMAIL_PORT"] or (465 if scheme == "smtp+ssl" else 587)
    return config


A_SECRET = "$(openssl rand -base64 48)"  # noqa: S105  (how to make one)


def is_secret(value: str) -> bool:
    return len(value) >= 32 and value.isprintable()


def secret_keys(name: str) -> list[str]:
    """Secrets as SECRET_KEY has been or will be, separated by commas; none where it is unset."""
    values = [value.strip() for value in (given(name) or "").split(",")]
    values = [value for value in values if value]
    if not all(map(is_secret, values)):
        stop(name, "must be secrets of at least 32 printable characters, with commas", A_SECRET)
    return values


def secret_key(name: str, path: Path) -> str:
    """Django's secret: the variable's value, else the one kept in the file."""
    value, example = given(name), A_SECRET
    if value is not None:
        if not is_secret(value):
            stop(name, "must be at least 32 printable characters", example)
        return value
    try:
        if not path.exists():
            write_once(path, secrets.token_urlsafe(48).encode())
        value = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "is not readable"
        stop(name, f"is unset and {str(path)!r} cannot be kept ({problem})", example)
    if len(value) < 32:
        stop(name, f"is unset and {str(path)!r} holds fewer than 32 characters", example)
    return value
