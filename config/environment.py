"""Typed reading of environment variables; a bad value ends the start with one line."""

import ipaddress
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TypeVar
from urllib.parse import SplitResult, urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator
from django.http.request import split_domain_port, validate_host
from fido2.rpid import verify_rp_id

from keys.files import write_once

Choice = TypeVar("Choice", bound=str)


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


def choice(name: str, default: Choice, choices: Sequence[Choice]) -> Choice:
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


def url_parts(value: str, *schemes: str) -> SplitResult | None:
    """A URL taken apart, or None where it is none of these schemes'."""
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
    parts = url_parts(value, "http", "https")
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
    parts = url_parts(value, "https")
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


def is_own_url(url: str, hosts: Sequence[str], port: int) -> bool:
    """Whether a URL leads to this service: one of its hosts as Django knows them (wildcards
    included), and no path below it.

    A loopback host must come with our port; another name's port is its proxy's.
    """
    parts = urlsplit(url)
    host, _ = split_domain_port(parts.netloc)
    if parts.path or not host or not validate_host(host, hosts):
        return False
    return host not in {"localhost", "127.0.0.1", "[::1]"} or parts.port == port


def sender(name: str, default: str) -> str:
    """An e-mail sender, with or without a display name."""
    value = text(name, default)
    mailbox = value.rpartition("<")[2].rstrip(">") if value.endswith(">") else value
    try:
        EmailValidator(allowlist=["localhost"])(mailbox)
    except ValidationError:
        stop(name, f"{value!r} is no e-mail address", "no-reply@example.com")
    return value


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
