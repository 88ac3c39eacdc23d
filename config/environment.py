"""Reads settings from environment variables. An invalid value stops the start with one line, which
names the variable and what it must be, but never the value, which may be a secret."""

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import environ
from django.http.request import validate_host
from fido2.rpid import verify_rp_id
from psycopg import conninfo
from pydantic import Field, HttpUrl, TypeAdapter
from redis import ConnectionPool

from accounts.breaches import existing_breach_file
from base.urls import web_origin

Parsed = TypeVar("Parsed")
ValueKind = tuple[Callable[[str], Parsed], str]  # a parser, and what a value must be
ServerOptions = dict[str, Any]  # settings from a server's URL, as the connecting library names them

VARIABLE_NAMES = {"OWNER_URL", "PGPASSFILE"}  # names; `environment_value` adds those it reads
# Variables that are no longer read, and what an operator does instead.
REMOVED_VARIABLES = {
    "LOCKOUT_RELIEF": "is now DEVICE_LOCKOUT; rename it",
    "RATE_LIMIT_CREDENTIAL_NETWORKS": "is no longer read; remove it, and enter each network with "
    "`manage.py networklimit NETWORK LIMIT`",
}


def refuse_start(name: str, problem: str) -> NoReturn:
    """End the process. SystemExit, unlike ImproperlyConfigured, passes through manage.py and
    gunicorn without a traceback."""
    raise SystemExit(f"{name}: {problem}")


def environment_value(name: str, default: str) -> str:
    """The variable's value, or the content of the file that NAME_FILE names, or the default."""
    VARIABLE_NAMES.add(name)
    path = os.environ.get(f"{name}_FILE")
    if path is None:
        return os.environ.get(name, default)
    if name in os.environ:
        refuse_start(f"{name}_FILE", f"is set, and so is {name}; set one of them")
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        refuse_start(f"{name}_FILE", f"cannot be read ({type(error).__name__})")


def refuse_removed_names() -> None:
    """Stop the start if a variable is set that would be silently ignored."""
    for name, advice in REMOVED_VARIABLES.items():
        if os.environ.get(name) or os.environ.get(f"{name}_FILE"):
            refuse_start(name, advice)


def misspelt_names() -> dict[str, str]:
    """Unknown variables, each with the setting that it nearly names; after all were read."""
    unknown = sorted({name.removesuffix("_FILE") for name in os.environ} - VARIABLE_NAMES)
    close = {name: get_close_matches(name, VARIABLE_NAMES, n=1, cutoff=0.88) for name in unknown}
    return {name: known[0] for name, known in close.items() if known}


def read(name: str, default: str, kind: ValueKind[Parsed]) -> Parsed:
    """The variable's value as the kind's parser returns it. Any error of the parser stops the
    start; its text is not shown, since libraries quote the value in it."""
    parse, meaning = kind
    try:
        return parse(environment_value(name, default))
    except Exception:
        refuse_start(name, f"must be {meaning}")


def read_integer(name: str, default: int, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """A whole number from low to high, inclusive."""
    parse = TypeAdapter(Annotated[int, Field(ge=low, le=high)]).validate_python
    return read(name, str(default), (parse, f"a whole number from {low} to {high}"))


def read_choice(name: str, default: str, choices: Sequence[str]) -> Any:
    """One of the choices, in any case."""
    known = {word.lower(): word for word in choices}
    return read(name, default, (lambda value: known[value.lower()], f"one of {', '.join(choices)}"))


def require(found: Parsed | None) -> Parsed:
    if not found:
        raise ValueError
    return found


def matching(pattern: str) -> Callable[[str], str]:
    return lambda value: require(re.fullmatch(pattern, value))[0]


def each(parse: Callable[[str], Parsed]) -> Callable[[str], list[Parsed]]:
    """A parser for comma-separated lists of what `parse` accepts."""
    return lambda value: [parse(item.strip()) for item in value.split(",") if item.strip()]


def as_browsers_write(value: str) -> str:
    """An http(s) address with scheme and host in lower case, without a default port (RFC 6454 §6.1)
    or a trailing slash."""
    url = HttpUrl(value)
    require(not ("*" in value or url.username or url.query or url.fragment))
    return str(url).rstrip("/")


def as_origin(value: str) -> str:
    url = as_browsers_write(value)
    require(not urlsplit(url).path)
    return url


def as_name_server(value: str) -> str:
    """An IP address, then a port, 53 unless one is given. IPv6 with a port is in brackets."""
    bare = re.fullmatch(r"\[(.+)\](?::(\d{1,5}))?|([^:]+):(\d{1,5})", value)
    host, port = (bare[1] or bare[3], bare[2] or bare[4]) if bare else (value, None)
    number = int(port or 53)
    require(0 < number < 65536)
    return f"{ip_address(host)}:{number}"


def as_database(url: str) -> ServerOptions:
    """An entry of DATABASES; the query has options of libpq, or SQLite's `timeout`."""
    require("://" in url)  # or django-environ would warn with the password, or ignore the host
    config: ServerOptions = {"OPTIONS": {}} | environ.Env.db_url_config(url)
    options = config["OPTIONS"]
    if config["ENGINE"] == "django.db.backends.postgresql":
        conninfo.make_conninfo("", **options)  # refuses what libpq does not know
        require(
            all(re.fullmatch(LIBPQ_OPTIONS.get(key, ".+"), str(options[key])) for key in options)
        )
    else:
        require(config["ENGINE"] == "django.db.backends.sqlite3" and options.keys() <= {"timeout"})
    pooled = config.pop("DISABLE_SERVER_SIDE_CURSORS", False)
    # Other options of Django are not configurable.
    require(config.keys() <= {"ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS"})
    return config | {"DISABLE_SERVER_SIDE_CURSORS": BOOLEAN[0](pooled)}


LIBPQ_OPTIONS = {  # options that take few values
    "sslmode": "disable|allow|prefer|require|verify-ca|verify-full",
    "target_session_attrs": "any|read-write|read-only|primary|standby|prefer-standby",
    **dict.fromkeys(["connect_timeout", "tcp_user_timeout"], r"\d{1,9}"),
}


def redis_options(url: str) -> ServerOptions:
    """redis-py's options for a URL of one server."""
    pool = ConnectionPool.from_url(url)
    pool.make_connection()  # refuses an option that it does not know, and does not connect
    require("host" in pool.connection_kwargs and re.fullmatch(r"/?\d*", urlsplit(url).path))
    return {"ssl": url.startswith("rediss"), **pool.connection_kwargs}


def redis_servers(url: str) -> ServerOptions | None:
    """The Sentinels or nodes of a redis+sentinel:// or redis+cluster:// address (rediss+… with
    TLS), the service that the Sentinels watch, and connection options. None for a single server."""
    scheme, plus, kind = url.partition("://")[0].partition("+")
    if not plus:
        require(not url or redis_options(url))
        return None
    address, _, query_string = url.partition("://")[2].partition("?")
    login_and_hosts, _, path = address.partition("/")
    user, at, hosts = login_and_hosts.rpartition("@")
    service, _, db = path.strip("/").partition("/")
    require(service if kind == "sentinel" else kind == "cluster" and not service)
    query, login = dict(parse_qsl(query_string)), ("username", "password")
    own = {key: query.pop(f"sentinel_{key}") for key in login if f"sentinel_{key}" in query}
    rest = f"/{db}?{urlencode(query)}"
    servers = [redis_options(f"{scheme}://{user}{at}{host}{rest}") for host in hosts.split(",")]
    options = {key: servers[0][key] for key in ("ssl", *query)}
    port = 26379 if service else 6379
    return {
        "endpoints": [(server["host"], server.get("port", port)) for server in servers],
        "service": service or None,
        "options": options | {k: servers[0][k] for k in (*login, "db") if k in servers[0]},
        "sentinel_options": options | own,
    }


def as_email(url: str) -> ServerOptions:
    """Django's settings EMAIL_… for an SMTP server, a folder or the console."""
    scheme = url.partition("://")[0]
    config: ServerOptions = environ.Env.email_url_config(url)
    if scheme == "consolemail":
        config["EMAIL_BACKEND"] = "mail.console.ConsoleEmailBackend"
    else:
        require(config["EMAIL_FILE_PATH" if scheme == "filemail" else "EMAIL_HOST"])
    # RFC 8314 §3.3: implicit TLS has a port of its own.
    config["EMAIL_PORT"] = config["EMAIL_PORT"] or (465 if scheme == "smtp+ssl" else 587)
    switches = {"EMAIL_USE_TLS": False, "EMAIL_USE_SSL": False}
    return switches | {name: value or "" for name, value in config.items()}


TEXT = matching(".+"), "not empty"
BOOLEAN = TypeAdapter(bool).validate_python, "true or false"  # also yes, no, on, off, 1, 0
ADDRESS = ip_address, "an IP address"
HOST_NAME = r"\*|\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\]"
HOSTS = each(matching(HOST_NAME)), "host names without scheme, port or path, separated by commas"
URL = as_browsers_write, "an http or https address without user name, query or *"
ORIGIN = as_origin, "an http or https address without path, user name, query or *"
ORIGINS = each(as_origin), "addresses such as https://app.example.com, separated by commas"
HTTPS_ORIGINS = each(lambda url: matching("https:.+")(as_origin(url))), "https addresses, no path"
NAME_SERVERS = each(as_name_server), "IP addresses with ports, separated by commas"
HTTPS_LINK = matching(r"(https://[\w.-]+(:\d{1,5})?([/?#]\S*)?)?"), "an https address"
SENDER = (  # RFC 5322 §3.2.3: a name with special characters needs quotes
    matching(r'[^@<>\s,:;]+@[^@<>\s,:;]+|("[^"\\\n]*"|[^][@<>",:;\\\n]*) *<[^@<>\s]+@[^@<>\s]+>'),
    'an e-mail address, such as "Example, Inc." <no-reply@example.com>',
)
SECRETS = each(matching(".{32,}")), "secrets of at least 32 characters, separated by commas"
BEARER_TOKEN = matching("([ -~]{16,})?"), "at least 16 ASCII characters long"
DSN = matching(r"(https?://\w+@[\w.:\[\]-]+/(\S+/)?\d+)?"), "a DSN of Sentry"
DATABASE_ADDRESS = as_database, "an address, such as postgres://user:password@host:5432/name"
REDIS_ADDRESS = (
    lambda url: (url, redis_servers(url)),
    "an address, such as redis://:password@host:6379/0",
)
MAIL_SERVER = as_email, "an address, such as smtp+tls://user:password@mail.example.com:587"
BREACH_FILE = existing_breach_file, "a whole file of SHA-1 hashes, one a line, in ascending order"
WARNINGS = each(matching(r"[a-z_]+\.W\d{3}")), "ids of warnings, such as accounts.W009"
LENIENT_TIERS = each(matching("authenticated|public")), "authenticated or public, or both"
PRIVATE_SCHEMES = (  # RFC 3986 §3.1; browsers keep the excluded ones for themselves
    each(matching("(?!(about|blob|data|file|ftp|https?|javascript|vbscript)$)[a-z][a-z0-9+.-]*")),
    "private-use URL schemes, separated by commas",
)


def secret_key(name: str, path: Path) -> str:
    """SECRET_KEY: the variable's value, or else that of a private file, created if missing."""
    kept = ""
    if not os.environ.keys() & {name, f"{name}_FILE"}:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(FileExistsError):
                path.touch(0o600, exist_ok=False)
                path.write_text(secrets.token_urlsafe(48))
            kept = path.read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            refuse_start(
                name, f"is not set, and {path} cannot be created or read ({type(error).__name__})"
            )
    return read(name, kept, (matching(r"[\s\S]{32,}"), "at least 32 characters long"))


def commit_of_clone(name: str, repository: Path) -> str:
    """The variable's value, or else the commit that a clone is at. It is read from the log that git
    keeps of HEAD: git itself refuses to work in another user's clone."""
    try:
        log = (repository / "logs/HEAD").read_text("utf-8", "replace")
        found = log.splitlines()[-1].split()[1][:12]
    except (OSError, IndexError):
        found = "unknown"
    return read(name, found, TEXT)


def digest_static_files(folder: Path, *packages: str) -> str:
    """A digest of the static files in the folder's apps, and of the versions of these packages,
    whose static files are served as well."""
    digest = hashlib.sha256(" ".join(map(version, packages)).encode())
    for path in sorted(folder.glob("*/static/**/*.*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def is_own_url(url: str, hosts: Sequence[str], port: int) -> bool:
    """Whether a URL is that of one of ALLOWED_HOSTS, without a path. A loopback address must have
    our port; for other names a proxy chooses the port."""
    parts = urlsplit(url)
    host = parts.netloc.removesuffix(f":{parts.port}")
    is_elsewhere = host in {"localhost", "127.0.0.1", "[::1]"} and parts.port != port
    return not parts.path and not is_elsewhere and validate_host(host, hosts)


def passkey_domain(name: str, *urls: str) -> tuple[str, list[str]]:
    """The domain of passkeys, by default the first address's host, and the origins of these
    addresses at which browsers accept it (WebAuthn Level 3 §5.1.3). If they do at none, the domain
    is "": passkeys need a domain name and, except on localhost, https."""
    host = urlsplit(urls[0]).hostname or ""
    domain = environment_value(name, host).lower()
    is_address = re.fullmatch(r"[0-9.]+|.*:.*", domain)
    usable = [
        origin
        for origin in map(web_origin, urls)
        if verify_rp_id(domain, origin) and not is_address
    ]
    if not usable and domain != host:
        refuse_start(
            name, "must be the https host of FRONTEND_URL or SERVICE_URL, or a domain above it"
        )
    return domain if usable else "", usable
