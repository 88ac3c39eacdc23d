"""Reads settings from environment variables. An invalid value stops the start with one line, which
never shows the value: it may be a secret."""

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from email.utils import parseaddr
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
ValueKind = tuple[Callable[[str], Parsed], str]  # a parser, and what its texts must be
ServerOptions = dict[str, Any]  # from a server's URL, by the names of the connecting library

# Names of variables: these are read elsewhere, and `environment_value` adds each that it reads.
VARIABLE_NAMES = {"OWNER_URL", "PGPASSFILE"}
# Variables that this release does not read, and what an operator must do instead.
REMOVED_VARIABLES = {
    "LOCKOUT_RELIEF": "is now DEVICE_LOCKOUT; rename it",
    "RATE_LIMIT_CREDENTIAL_NETWORKS": "is no longer read; remove it, and enter each network with "
    "`manage.py networklimit NETWORK LIMIT`",
}


def refuse_start(name: str, reason: str) -> NoReturn:
    """Raise SystemExit with one line about the variable. For ImproperlyConfigured manage.py and
    gunicorn show a traceback."""
    raise SystemExit(f"{name}: {reason}")


def environment_value(name: str, default: str) -> str:
    """The environment variable's value, or the content of the file that <name>_FILE names, or the
    default. Raises SystemExit if both variables are set, or if the file cannot be read."""
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
    """Raise SystemExit if a variable of REMOVED_VARIABLES is set and not empty."""
    for name, advice in REMOVED_VARIABLES.items():
        if os.environ.get(name) or os.environ.get(f"{name}_FILE"):
            refuse_start(name, advice)


def misspelt_names() -> dict[str, str]:
    """Unknown variables, each with the setting that it probably misspells. Call it after all
    settings have been read."""
    unknown = sorted({name.removesuffix("_FILE") for name in os.environ} - VARIABLE_NAMES)
    matches = {name: get_close_matches(name, VARIABLE_NAMES, n=1, cutoff=0.88) for name in unknown}
    return {name: settings[0] for name, settings in matches.items() if settings}


def read(name: str, default: str, kind: ValueKind[Parsed]) -> Parsed:
    """What the kind's parser makes of the environment variable, "" too if it is set to that, or of
    the file that <name>_FILE names, or else of the default. Raises SystemExit if the parser raises
    any error, without its text, which may quote the value, if both variables are set, and if the
    file cannot be read."""
    parse, meaning = kind
    try:
        return parse(environment_value(name, default))
    except Exception:
        refuse_start(name, f"must be {meaning}")


def read_integer(name: str, default: int, *, low: int = 1, high: int = 2**31 - 1) -> int:
    """The variable's value, a whole number from `low` to `high`."""
    parse = TypeAdapter(Annotated[int, Field(ge=low, le=high)]).validate_python
    return read(name, str(default), (parse, f"a whole number from {low} to {high}"))


def read_choice(name: str, default: str, choices: Sequence[str]) -> Any:
    """The one of `choices` that the variable names in upper or lower case."""
    choices_by_value = {choice.lower(): choice for choice in choices}
    meaning = f"one of {', '.join(choices)}"
    return read(name, default, (lambda value: choices_by_value[value.lower()], meaning))


def require(parsed: Parsed | None) -> Parsed:
    """Return the argument, or raise ValueError if it is false."""
    if not parsed:
        raise ValueError
    return parsed


def matching(pattern: str) -> Callable[[str], str]:
    """A parser for texts that the regular expression matches as a whole."""
    return lambda value: require(re.fullmatch(pattern, value))[0]


def each(parse: Callable[[str], Parsed]) -> Callable[[str], list[Parsed]]:
    """A parser for comma-separated lists, each item of which `parse` parses."""
    return lambda value: [parse(item.strip()) for item in value.split(",") if item.strip()]


def parse_http_url(value: str) -> str:
    """Parse an http(s) URL into the form that browsers use: scheme and host in lower case, without
    a default port (RFC 6454 §6.1) or a trailing slash. Raises ValueError for any other text, and
    for a URL that has a user name, `?`, `#` or `*`."""
    url = HttpUrl(value)
    require(not ({*"*?#"} & {*value} or url.username or url.password))
    return str(url).rstrip("/")


def parse_origin(value: str) -> str:
    """Parse a web origin: an http(s) URL without a path. Raises ValueError for any other text."""
    url = parse_http_url(value)
    require(not urlsplit(url).path)
    return url


def parse_name_server(value: str) -> str:
    """Parse a name server's IP address and port, 53 by default, into `address:port` without
    brackets. An IPv6 address with a port must be in brackets. Raises ValueError for other texts."""
    match = re.fullmatch(r"\[(.+)\](?::(\d{1,5}))?|([^:]+):(\d{1,5})", value)
    host, port = (match[1] or match[3], match[2] or match[4]) if match else (value, None)
    number = int(port or 53)
    require(0 < number < 65536)
    return f"{ip_address(host)}:{number}"


def parse_database_url(url: str) -> ServerOptions:
    """Parse the URL of a PostgreSQL or SQLite database into an entry of DATABASES. Its query may
    have options of libpq, SQLite's `timeout`, and `disable_server_side_cursors` for a pooler.
    Raises an error, of any class, if the URL is invalid."""
    require("://" in url)  # else django-environ logs the password, or ignores the host
    config: ServerOptions = {"OPTIONS": {}} | environ.Env.db_url_config(url)
    options = config["OPTIONS"]
    if config["ENGINE"] == "django.db.backends.postgresql":
        conninfo.make_conninfo("", **options)  # refuses what libpq does not know
        require(config["NAME"] or "service" in options)
    else:
        require(config["ENGINE"] == "django.db.backends.sqlite3" and options.keys() <= {"timeout"})
    for name, value in options.items():
        require(re.fullmatch(OPTION_PATTERNS.get(name, ".+"), str(value)))
    is_pooled = config.pop("DISABLE_SERVER_SIDE_CURSORS", False)
    # Django's other options are not configurable.
    require(config.keys() <= {"ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS"})
    return config | {"DISABLE_SERVER_SIDE_CURSORS": BOOLEAN[0](is_pooled)}


OPTION_PATTERNS = {  # what options may be that libpq and SQLite check only when they connect
    "sslmode": "disable|allow|prefer|require|verify-ca|verify-full",
    "target_session_attrs": "any|read-write|read-only|primary|standby|prefer-standby",
    **dict.fromkeys(["connect_timeout", "tcp_user_timeout", "timeout"], r"\d{1,9}"),
}


def redis_options(url: str) -> ServerOptions:
    """redis-py's options of a connection to one server, such as `host`, `db` and `ssl`, from its
    redis:// or rediss:// URL. Raises an error, of any class, for other URLs and invalid ones."""
    pool = ConnectionPool.from_url(url)
    pool.make_connection()  # raises an error for an unknown option; it does not connect
    require("host" in pool.connection_kwargs and re.fullmatch(r"/?\d*", urlsplit(url).path))
    return {"ssl": url.startswith("rediss"), **pool.connection_kwargs}


def parse_redis_url(url: str) -> ServerOptions | None:
    """Parse a redis+sentinel:// or redis+cluster:// address (rediss+… with TLS) into a dict:
    "endpoints" has host and port of each Sentinel or node, "service" the name that the Sentinels
    watch (None for a Cluster), "options" redis-py's options of a connection to a server, and
    "sentinel_options" those to a Sentinel. None for "", and for a single server's address, which is
    only checked. Raises an error, of any class, if the address is invalid."""
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
    require(service or "db" not in query)  # a Cluster has one database
    sentinel_keys = [key for key in login if f"sentinel_{key}" in query]
    sentinel_login = {key: query.pop(f"sentinel_{key}") for key in sentinel_keys}
    tail = f"/{db}?{urlencode(query)}"
    servers = [redis_options(f"{scheme}://{user}{at}{host}{tail}") for host in hosts.split(",")]
    options = {key: servers[0][key] for key in ("ssl", *query)}
    port = 26379 if service else 6379
    return {
        "endpoints": [(server["host"], server.get("port", port)) for server in servers],
        "service": service or None,
        "options": options | {k: servers[0][k] for k in (*login, "db") if k in servers[0]},
        "sentinel_options": options | sentinel_login,
    }


def parse_sender(value: str) -> str:
    """Return the value, an e-mail address with or without a name (RFC 5322 §3.4). Raises ValueError
    for other texts, and for an address whose domain has no ASCII form, such as `example..com`."""
    # §3.2.3: a name with special characters needs quotes.
    name = r'("[^"\\\n]*"|[^][@<>",:;\\\n]*)'
    require(re.fullmatch(rf"[^@<>\s,:;]+@[^@<>\s,:;]+|{name} *<[^@<>\s]+@[^@<>\s]+>", value))
    parseaddr(value)[1].rpartition("@")[2].encode("idna")
    return value


def parse_mail_url(url: str) -> ServerOptions:
    """Parse the URL of an SMTP server (smtp, smtp+tls or smtp+ssl), a folder (filemail) or the
    console (consolemail) into Django's settings EMAIL_…. Raises an error, of any class, for
    other URLs and invalid ones."""
    scheme = url.partition("://")[0]
    switches = {"EMAIL_USE_TLS": False, "EMAIL_USE_SSL": False}
    config: ServerOptions = switches | environ.Env.email_url_config(url)
    if scheme == "consolemail":
        config["EMAIL_BACKEND"] = "mail.console.ConsoleEmailBackend"
    else:
        require(config["EMAIL_FILE_PATH" if scheme == "filemail" else "EMAIL_HOST"])
    if "smtp" in scheme:
        config["EMAIL_BACKEND"] = "mail.smtp.SmtpBackend"
    # The default ports of implicit TLS and of submission. A server at 465 knows no STARTTLS: it
    # waits for TLS, and so does the client for its greeting (RFC 8314 §3.3).
    config["EMAIL_PORT"] = config["EMAIL_PORT"] or (465 if scheme == "smtp+ssl" else 587)
    if config["EMAIL_PORT"] == 465:
        config |= {"EMAIL_USE_TLS": False, "EMAIL_USE_SSL": True}
    return {name: "" if value is None else value for name, value in config.items()}


TEXT = matching(".+"), "not empty"
BOOLEAN = TypeAdapter(bool).validate_python, "true or false"  # also yes, no, on, off, 1, 0
ADDRESS = ip_address, "an IP address"
HOST_NAME = r"\*|\.?[\w-]+(\.[\w-]+)*\.?|\[[0-9A-Fa-f:.]+\]"
HOSTS = each(matching(HOST_NAME)), "host names without scheme, port or path, separated by commas"
URL = parse_http_url, "an http or https address without user name, query or *"
ORIGIN = parse_origin, "an http or https address without path, user name, query or *"
ORIGINS = each(parse_origin), "addresses such as https://app.example.com, separated by commas"
HTTPS_ORIGINS = (
    each(lambda url: matching("https:.+")(parse_origin(url))),
    "https addresses, no path",
)
NAME_SERVERS = each(parse_name_server), "IP addresses with ports, separated by commas"
HTTPS_LINK = matching(r"(https://[\w.-]+(:\d{1,5})?([/?#]\S*)?)?"), "an https address"
SENDER = parse_sender, 'an e-mail address, such as "Example, Inc." <no-reply@example.com>'
SECRETS = each(matching(".{32,}")), "secrets of at least 32 characters, separated by commas"
BEARER_TOKEN = matching("([ -~]{16,})?"), "at least 16 ASCII characters long"
DSN = matching(r"(https?://\w+@[\w.:\[\]-]+/(\S+/)?\d+)?"), "a DSN of Sentry"
DATABASE_ADDRESS = parse_database_url, "an address, such as postgres://user:password@host:5432/name"
REDIS_ADDRESS = (
    lambda url: (url, parse_redis_url(url)),
    "an address, such as redis://:password@host:6379/0",
)
MAIL_SERVER = parse_mail_url, "an address, such as smtp+tls://user:password@mail.example.com:587"
BREACH_FILE = existing_breach_file, "a whole file of SHA-1 hashes, one a line, in ascending order"
WARNINGS = each(matching(r"[a-z_]+\.W\d{3}")), "ids of warnings, such as accounts.W009"
LENIENT_TIERS = (
    each(matching("authenticated|public|check|scim")),
    "authenticated, public, check or scim, or several",
)
PRIVATE_SCHEMES = (  # RFC 3986 §3.1; browsers keep the excluded ones for themselves
    each(matching("(?!(about|blob|data|file|ftp|https?|javascript|vbscript)$)[a-z][a-z0-9+.-]*")),
    "private-use URL schemes, separated by commas",
)


def secret_key(name: str, path: Path) -> str:
    """The variable's value, or the content of the file at `path`, which is created with a new key
    if it is missing, for its owner alone. Raises SystemExit if the file cannot be created or read,
    or for a key of fewer than 32 characters."""
    stored_key = ""
    if not os.environ.keys() & {name, f"{name}_FILE"}:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(FileExistsError):
                path.touch(0o600, exist_ok=False)
                path.write_text(secrets.token_urlsafe(48))
            stored_key = path.read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            refuse_start(
                name, f"is not set, and {path} cannot be created or read ({type(error).__name__})"
            )
    return read(name, stored_key, (matching(r"[\s\S]{32,}"), "at least 32 characters long"))


def commit_of_clone(name: str, repository: Path) -> str:
    """The variable's value, or the first 12 digits of the clone's commit, or "unknown". The log in
    `repository`, the clone's `.git`, is read, since git itself refuses to work in another user's
    clone. Raises SystemExit if the variable is empty."""
    try:
        log = (repository / "logs/HEAD").read_text("utf-8", "replace")
        commit = log.splitlines()[-1].split()[1][:12]
    except (OSError, IndexError):
        commit = "unknown"
    return read(name, commit, TEXT)


def digest_static_files(folder: Path, *packages: str) -> str:
    """A digest of the static files of all apps in the folder, and of the versions of the packages
    whose static files are also served: 12 hexadecimal digits."""
    digest = hashlib.sha256(" ".join(map(version, packages)).encode())
    for path in sorted(folder.glob("*/static/**/*.*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def is_own_url(url: str, hosts: Sequence[str], port: int) -> bool:
    """Whether the http(s) URL leads to this service: it has no path, and matches one of `hosts`, as
    in ALLOWED_HOSTS. A loopback address must have this service's port; for other hosts a proxy
    chooses the port."""
    parts = urlsplit(url)
    host = parts.netloc.removesuffix(f":{parts.port}")
    url_port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    is_elsewhere = host in {"localhost", "127.0.0.1", "[::1]"} and url_port != port
    return not parts.path and not is_elsewhere and validate_host(host, hosts)


def passkey_domain(name: str, *urls: str) -> tuple[str, list[str]]:
    """The domain of passkeys, and the web origins of the URLs at which browsers accept passkeys of
    this domain (WebAuthn Level 3 §5.1.3): https, or localhost. The domain is the value of the
    variable `name`, or else the host of the first URL. If browsers accept that host at no URL,
    returns ("", []): passkeys are off. Raises SystemExit if they accept another domain at none."""
    host = urlsplit(urls[0]).hostname or ""
    domain = environment_value(name, host).lower()
    is_address = re.fullmatch(r"[0-9.]+|.*:.*", domain)
    origins = [
        origin
        for origin in map(web_origin, urls)
        if verify_rp_id(domain, origin) and not is_address
    ]
    if not origins and domain != host:
        refuse_start(
            name, "must be the https host of FRONTEND_URL or SERVICE_URL, or a domain above it"
        )
    return domain if origins else "", origins
