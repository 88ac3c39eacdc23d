"""OpenAPI 3.1 of the whole service: the frame, and what each view's base class says of its calls.

What a call takes and answers stands in its app's `schema.py`; this module adds tier, security,
limit headers and error answers. None of it is loaded before somebody asks for the document.
"""

import functools
import importlib
import json
import re
from typing import Any, TypeGuard

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import APIException

from accounts.permissions import IsAdmin
from config.errors import KNOWN
from config.views import SchemaView
from throttling.exceptions import LengthRequired, RateLimited, RequestTooLarge
from throttling.throttles import CredentialThrottle

APPS = ["accounts", "invitations", "passwords"]
TAGS = {"auth", "invitations", "password-changes", "users"}
LIMIT_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]

type_dict = dict[str, Any]


def ref(kind: str, name: str) -> type_dict:
    return {"$ref": f"#/components/{kind}/{name}"}


def error_body(words: list[str], **fields: type_dict) -> type_dict:
    """The schema of `{"error": one of the words}`, with further fields where a case has them."""
    error = {"type": "string", "enum": list(dict.fromkeys(words))}
    return {
        "type": "object",
        "required": ["error"],
        "properties": {"error": error} | fields,
        "additionalProperties": False,
    }


def openapi_response(description: str, schema: type_dict, *headers: str) -> type_dict:
    return {
        "description": description,
        "headers": {name: ref("headers", name) for name in headers},
        "content": {"application/json": {"schema": schema}},
    }


def is_raised(answer: Any) -> TypeGuard[type[APIException] | tuple[type[APIException], ...]]:
    """Whether an app names exceptions, rather than a serializer, for a status."""
    first = answer[0] if isinstance(answer, tuple) and answer else answer
    return isinstance(first, type) and issubclass(first, APIException)


class Schema(AutoSchema):
    """Adds to what an app says of a call all that follows from the kind of its view.

    Among the `responses` of an app's `extend_schema`, an exception class, or several, stands for
    the error answer that `config.errors` makes of it.
    """

    def get_operation_id(self) -> str:
        words: list[str] = re.findall("[a-z]+", f"{self.method} {self.path}".lower())
        return words[0] + "".join(word.title() for word in words[1:])

    def get_tags(self) -> list[str]:
        first = self.path.split("/")[1]
        return [
            first if first in {"auth", "invitations", "password-changes", "users"} else "service"
        ]

    def _get_request_body(self, *args: Any, **options: Any) -> type_dict | None:
        """With one `example`: Swagger UI gives a choice of `examples` no accessible name."""
        body: type_dict | None = super()._get_request_body(*args, **options)
        for content in body["content"].values() if body else []:
            for example in content.pop("examples", {}).values():
                content["example"] = example["value"]
        return body

    def _get_response_for_code(self, serializer: Any, *args: Any, **options: Any) -> type_dict:
        if is_raised(serializer):
            return {}
        response: type_dict = super()._get_response_for_code(serializer, *args, **options)
        if not response["description"] or response["description"] == "No response body":
            response["description"] = "Done." if "content" in response else "Done; no body."
        return response

    def _get_response_bodies(self, *args: Any, **options: Any) -> type_dict:
        answers: type_dict = super()._get_response_bodies(*args, **options)
        for answer in answers.values():
            if answer:
                answer.setdefault("headers", {}).update(
                    {name: ref("headers", name) for name in LIMIT_HEADERS}
                )
        return answers | self.errors()

    def errors(self) -> dict[str, type_dict]:
        """Every error answer of the call by its status, in order."""
        words = {status: list(said) for status, said in self.raised().items()}
        fields: type_dict = {}
        words.setdefault(400, []).extend(["invalid host", "bad request"])
        has_body = self.method in {"POST", "PATCH"} and self.get_request_serializer() is not None
        if has_body:
            words[400].append(KNOWN_WORDS["malformed"])
            words[415] = [KNOWN_WORDS[415]]
        if has_body or self._get_parameters():
            words[400].append("invalid request")
            fields = {"fields": ref("schemas", "FieldErrors")}
        if self.view.authentication_classes:
            words.setdefault(401, []).append(KNOWN_WORDS[401])
        if IsAdmin in self.view.permission_classes:
            words[403] = [KNOWN_WORDS[403]]
        if "{" in self.path:
            words[404] = [KNOWN_WORDS[404]]
        for kind in (LengthRequired, RequestTooLarge):
            words[kind.status_code] = [str(kind.default_detail)]
        made = {
            status: openapi_response(
                DESCRIPTIONS[status],
                error_body(said, **(fields if status == 400 else {})),
                *LIMIT_HEADERS,
                *(["WWW-Authenticate"] if status == 401 else []),
            )
            for status, said in words.items()
        }
        strict = CredentialThrottle in self.view.throttle_classes
        made[429] = ref("responses", "TooManyAttempts" if strict else "RateLimited")
        made |= {500: ref("responses", "InternalError"), 503: ref("responses", "Unavailable")}
        self.add_cookie_header(made)
        return {str(status): made[status] for status in sorted(made)}

    def raised(self) -> dict[int, list[str]]:
        """The words of the exceptions that the app names, by status."""
        words: dict[int, list[str]] = {}
        answers = self.get_response_serializers()
        for answer in answers.values() if isinstance(answers, dict) else []:
            if is_raised(answer):
                for kind in answer if isinstance(answer, tuple) else [answer]:
                    words.setdefault(kind.status_code, []).append(str(kind.default_detail))
        return words

    def add_cookie_header(self, made: dict[int, type_dict]) -> None:
        """Headers that the app describes for an error's status."""
        for status, answer in made.items():
            if "headers" in answer:
                answer["headers"] |= self._get_response_headers_for_code(str(status))


KNOWN_WORDS: dict[Any, str] = dict(KNOWN.values()) | {"malformed": "malformed JSON"}
DESCRIPTIONS = {
    400: "The request is not understood, or its token does not hold.",
    401: "Not signed in, or the credentials do not hold.",
    403: "The caller's role does not permit the call.",
    404: "There is no such thing in the caller's company.",
    409: "The state of things does not allow it.",
    411: "A chunked body: `Content-Length` is required.",
    413: "The body is longer than 64 KiB.",
    415: "The body is not `application/json`.",
}


def rate_limited(words: str, description: str, with_message: bool) -> type_dict:
    """The 429 of a tier."""
    body = error_body([words], **({"message": {"type": "string"}} if with_message else {}))
    if with_message:
        body["required"].append("message")
    headers = ["Retry-After"] + (["x-ratelimit-remaining"] if with_message else [])
    return openapi_response(description, body, *headers)


def number_header(description: str, lowest: int) -> type_dict:
    schema = {"type": "integer", "minimum": lowest}
    return {"description": description, "required": True, "schema": schema}


def components() -> type_dict:
    """The parts that all calls share."""
    strings = {"type": "array", "items": {"type": "string"}}
    nested = {"type": "object", "additionalProperties": strings}
    too_many = (
        "The credential tier is exhausted, or the e-mail address is locked: the same answer for "
        "both, so that they cannot be told apart. No `x-ratelimit-*` header."
    )
    return {
        "schemas": {
            "FieldErrors": {
                "type": "object",
                "description": "What is wrong, by field; only where a body or query is invalid.",
                "additionalProperties": {"anyOf": [strings, nested]},
                "examples": [{"password": ["This field is required."]}],
            }
        },
        "headers": {
            "x-ratelimit-limit": number_header("Requests allowed in the window.", 1),
            "x-ratelimit-remaining": number_header("Requests left in the window.", 0),
            "x-ratelimit-reset": number_header("Seconds until the window ends.", 1),
            "Retry-After": number_header("Seconds to wait before trying again.", 1),
            "WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}},
        },
        "responses": {
            "RateLimited": rate_limited(
                str(RateLimited.default_detail), "The tier's limit is exhausted.", True
            ),
            "TooManyAttempts": rate_limited(
                str(CredentialThrottle.exceeded.default_detail), too_many, False
            ),
            "InternalError": openapi_response("A fault of ours.", error_body(["internal error"])),
            "Unavailable": openapi_response(
                "The database is unreachable.", error_body([KNOWN_WORDS[503]])
            ),
        },
        "securitySchemes": {
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "JWT",
                "description": "An access token (RS256), from any call that signs in.",
            },
            "refreshCookie": {
                "type": "apiKey",
                "in": "cookie",
                "name": "service_refresh",
                "description": "HttpOnly, `Path=/auth`; set by the calls that sign in.",
            },
        },
    }


def health() -> type_dict:
    """GET /health, which is no API view: it is exempt from counting."""

    def answer(
        description: str, statuses: list[str], database: str, **more: type_dict
    ) -> type_dict:
        properties = more | {
            "status": {"type": "string", "enum": statuses},
            "database": {"const": database},
            "limiter": {"type": "string", "enum": ["ok", "fallback"]},
        }
        schema = {"type": "object", "required": [*properties], "properties": properties}
        return openapi_response(description, schema)

    return {
        "get": {
            "operationId": "getHealth",
            "summary": "Whether the service can serve",
            "description": "For load balancers. Exempt from every limit; no `x-ratelimit-*`.",
            "tags": ["service"],
            "responses": {
                "200": answer(
                    "It can; `degraded` while limits fall back.", ["ok", "degraded"], "ok"
                ),
                "503": answer(
                    "The database is unreachable.",
                    ["unavailable"],
                    "unavailable",
                    error={"const": KNOWN_WORDS[503]},
                ),
            },
        }
    }


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


def complete(result: type_dict, **options: Any) -> type_dict:
    """drf-spectacular's hook: what its generator does not see."""
    result["info"]["description"] = DESCRIPTION
    result["paths"] = {"/health": health()} | result["paths"]
    for kind, parts in components().items():
        result["components"][kind] = result["components"].get(kind, {}) | parts
    return result


extend_schema_view(get=extend_schema(summary="This document", responses={200: {"type": "object"}}))(
    SchemaView
)


@functools.cache
def document() -> bytes:
    """The document as JSON; made once a process, at the first request for it."""
    for app in APPS:
        importlib.import_module(f"{app}.schema")
    schema = SchemaGenerator().get_schema(request=None, public=True)
    return json.dumps(schema, indent=1, ensure_ascii=False).encode() + b"\n"
