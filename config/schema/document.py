"""The document as a whole: its introduction, and the one place that makes it."""

import functools
import json
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from config.schema.components import SHARED
from throttling.openapi import JSON

DESCRIPTION = """
Sign-in, people and rate limiting of a consulting-management service. Bodies are JSON objects
(`Content-Type: application/json`, at most 64 KiB); unknown fields are ignored; every error is a
JSON object with a string `error`.

## Signing in
A sign-in answers with an **access token** (1 hour), sent as `Authorization: Bearer …`, and a
**refresh token** (24 hours), which browsers get as the HttpOnly cookie `service_refresh` as well.
Refresh shortly before the access token's `exp`, or on a 401, once; a second 401 is a log-out.
Refreshing is stateless: tabs may do it at the same moment, and all succeed.

## Limits
| tier | calls | counted by | requests in 60 s |
|---|---|---|---|
| authenticated | those with a bearer token | user; address if the token does not hold | 300 |
| public | schema, keys, pages, unknown paths | address | 300 |
| credential | log-in, sign-up, refresh, acceptance, password change | address | 10 |

The numbers are this service's defaults; the headers tell the real ones. A tier is one counter for
each caller, over all its calls. Every request is counted first, whatever comes of it; every answer
but a 429 carries `x-ratelimit-limit`, `x-ratelimit-remaining` and `x-ratelimit-reset` (seconds).
The window is fixed and begins with its first request. A 429 says in `Retry-After` how many seconds
to wait. `GET /health` is not counted. An IPv6 caller is its /64.

## Lockout
After some consecutive wrong passwords (5 by default) an e-mail address is locked for a while (15
minutes): each way to sign in answers the credential tier's 429 for it, from any address, the right
password included. A success clears the count. Whether an address is registered is never told.
""".strip()


def without_enum_ids(part: Any) -> Any:
    """The part without drf-spectacular's notes to itself."""
    if isinstance(part, dict):
        return {k: without_enum_ids(v) for k, v in part.items() if k != "x-spec-enum-id"}
    return [without_enum_ids(item) for item in part] if isinstance(part, list) else part


def complete(result: JSON, **options: object) -> JSON:
    """drf-spectacular's hook: what its generator does not see."""
    result["info"]["description"] = DESCRIPTION
    result["servers"] = [{"url": settings.SERVICE_URL}]
    for kind, parts in SHARED.items():
        result["components"][kind] = result["components"].get(kind, {}) | parts
    completed: JSON = without_enum_ids(result)
    return completed


@functools.cache
def document() -> bytes:
    """The document as JSON; made once a process, at the first request for it."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return json.dumps(schema, indent=1, ensure_ascii=False).encode() + b"\n"
