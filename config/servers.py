"""Where the servers are that the service needs: DATABASE_URL, REDIS_URL and EMAIL_URL."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypedDict
from urllib.parse import parse_qsl, urlencode, urlsplit

import environ
from redis import ConnectionPool, RedisError
from redis.connection import parse_url

from config.environment import given, stop, url_parts

Config = dict[str, Any]  # what a URL comes to, by the names of whoever connects


class SeveralServers(TypedDict):
    """Sentinels or the nodes of a Cluster, and how to connect to what they lead to."""

    endpoints: list[tuple[str, int]]
    service: str | None  # of the Sentinels; None for a Cluster
    options: Config  # of a connection
    sentinel_options: Config  # of one to a Sentinel


def url_config(
    name: str,
    default: str,
    schemes: Sequence[str],
    parse: Callable[[str], Config],
    example: str,
) -> Config:
    """A service's URL, read by one of django-environ's parsers.

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


def database_config(value: str) -> Config:
    """django-environ's reading of DATABASE_URL as an entry of DATABASES, and what it lets pass."""
    config: Config = {"OPTIONS": {}} | environ.Env.db_url_config(value)
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
    """What is wrong with the query of a database's URL: what is empty, comes twice, or is not
    the URL's to say."""
    reserved = {"conn_max_age", "conn_health_checks", "atomic_requests", "autocommit"}
    pairs = [(key.lower(), value) for key, value in parse_qsl(query, keep_blank_values=True)]
    names = [key for key, _ in pairs]
    for key, value in pairs:
        if not value or key in reserved or names.count(key) > 1:
            return f"has a query parameter that is empty, there twice, or not allowed: {key}"
        if key == "disable_server_side_cursors" and value not in {"true", "false"}:
            return f"has a query parameter that is neither true nor false: {key}"
    return None


def sqlite_problem(options: Config) -> str | None:
    """SQLite takes `timeout`, the seconds to wait for another writer."""
    if set(options) <= {"timeout"} and all(isinstance(value, int) for value in options.values()):
        return None
    return "has a query parameter other than timeout=SECONDS"


def libpq_problem(options: Config) -> str | None:
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


def hosts_problem(config: Config) -> str | None:
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
    parts = url_parts(value, "redis", "rediss")
    if not parts or parts.path.strip("/0123456789"):
        forms = "redis://host:port/number or rediss://host:port/number"
        stop(name, f"must be {forms}, or redis+sentinel:// or redis+cluster://", example)
    redis_options(name, value, example)
    return value


def redis_options(name: str, url: str, example: str) -> Config:
    """What a redis:// or rediss:// address says beside host and port."""
    try:
        ConnectionPool.from_url(url).make_connection()  # which connects when it is used
    except (TypeError, ValueError, RedisError) as error:
        stop(name, f"has a bad query parameter: {error}", example)
    options = parse_url(url)
    return {k: options[k] for k in options if k not in {"host", "port", "connection_class"}}


SEVERAL_SERVERS = re.compile(
    r"(?P<scheme>rediss?)\+(?P<kind>sentinel|cluster)://(?:(?P<login>[^@/?]*)@)?(?P<hosts>[^/?@]+)"
    r"(?P<path>/[^?]*)?(?:\?(?P<query>.*))?"
)
SEVERAL_EXAMPLES = {
    "cluster": "redis+cluster://10.0.0.1:7000,10.0.0.2:7000",
    "sentinel": "redis+sentinel://10.0.0.1:26379,10.0.0.2:26379/mymaster/0",
}


def redis_servers(name: str, url: str | None) -> SeveralServers | None:
    """The servers of a redis+sentinel:// or redis+cluster:// address (rediss+… with TLS), or None
    for one server's."""
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
        "endpoints": [host_and_port(name, host, port, example) for host in hosts],
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
    parts = url_parts(f"tcp://{text}", "tcp")
    if not parts or not parts.hostname or parts.path:
        stop(name, f"{text!r} is no host:port", example)
    return parts.hostname, parts.port or port


def email_config(value: str) -> Config:
    """django-environ's reading of EMAIL_URL, and what it lets pass; ValueError for no address."""
    config: Config = environ.Env.email_url_config(value)
    scheme = value.partition("://")[0]
    if scheme.startswith("smtp") and not config["EMAIL_HOST"]:
        stop("EMAIL_URL", "names no host", "smtp+tls://user:password@mail.example.com:587")
    if scheme == "filemail" and not config["EMAIL_FILE_PATH"]:
        stop("EMAIL_URL", "names no folder", "filemail:////var/mail/outgoing")
    # RFC 8314 §3.3: TLS from the first byte has a port of its own.
    config["EMAIL_PORT"] = config["EMAIL_PORT"] or (465 if scheme == "smtp+ssl" else 587)
    return config
