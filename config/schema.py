"""The OpenAPI 3.1 document: what drf-spectacular finds, and every call's errors and headers."""

import functools
import json
import re
from pathlib import Path
from typing import Any

from django.conf import settings
from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from accounts.generics import IsAdmin
from throttling.openapi import JSON, Raises
from throttling.views import CountedView, CredentialThrottle


def ref(kind: str, name: str) -> JSON:
    return {"$ref": f"#/components/{kind}/{name}"}


def number_header(description: str, lowest: int) -> JSON:
    schema = {"type": "integer", "minimum": lowest}
    return {"description": description, "required": True, "schema": schema}


HEADERS = {
    "x-ratelimit-limit": number_header("Requests allowed in the window.", 1),
    "x-ratelimit-remaining": number_header("Requests left in the window.", 0),
    "x-ratelimit-reset": number_header("Seconds until the window ends.", 1),
    "Retry-After": number_header("Seconds to wait before trying again.", 1),
    "WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}},
}
LIMITS = {name: ref("headers", name) for name in HEADERS if name.startswith("x-")}
REFUSED = {"Retry-After": ref("headers", "Retry-After")}
STRINGS = {"type": "array", "items": {"type": "string"}}
BY_FIELD = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [STRINGS, {"type": "object", "additionalProperties": STRINGS}]
    },
}
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string"},
        "message": {"type": "string", "description": "With `rate_limited`."},
        "fields": BY_FIELD | {"description": "With `invalid request`: what is wrong, by field."},
        "codes": BY_FIELD | {"description": "The same as codes, in any language the same."},
        "methods": STRINGS | {"description": "With `second factor required`."},
        "cause": {
            "enum": ["wrong_code", "used_code", "old_code", "wrong_recovery_code", "wrong_passkey"],
            "description": "With `wrong code`.",
        },
        "enrolment": {"type": "string", "description": "With `second factor must be set up`."},
    },
    "additionalProperties": False,
}


def error_response(description: str, words: list[str], status: int) -> JSON:
    """An answer whose `error` is one of the words."""
    headers = REFUSED if status == 429 else LIMITS if status < 500 else {}
    if status == 401:
        headers = headers | {"WWW-Authenticate": ref("headers", "WWW-Authenticate")}
    schema = {"allOf": [ref("schemas", "Error"), {"properties": {"error": {"enum": words}}}]}
    return {
        "description": description,
        "headers": headers,
        "content": {"application/json": {"schema": schema}},
    }


# The errors that follow from a view's kind: by name, the status, the description and the words.
COMMON: dict[str, tuple[int, str, list[str]]] = {
    "BadRequest": (
        400,
        "The request is invalid.",
        ["invalid request", "malformed JSON", "invalid host", "bad request"],
    ),
    "Unauthorized": (401, "The token is missing or invalid.", ["missing or invalid token"]),
    "Forbidden": (403, "The caller's role does not permit it.", ["not permitted for your role"]),
    "NotFound": (404, "The caller's company has no such thing.", ["not found"]),
    "LengthRequired": (411, "A chunked body: send `Content-Length`.", ["length required"]),
    "TooLarge": (413, "The body is longer than 64 KiB.", ["request too large"]),
    "UnsupportedMediaType": (415, "The body is not JSON.", ["unsupported media type"]),
    "RateLimited": (429, "The tier's limit is exhausted.", ["rate_limited"]),
    "TooManyAttempts": (
        429,
        "The credential tier is exhausted, or the e-mail address is locked; the answer is the "
        "same for both.",
        ["too many attempts; please try again later"],
    ),
    "InternalError": (500, "A fault of the service.", ["internal error"]),
    "Unavailable": (
        503,
        "The database is unreachable; or, with `Retry-After`, too many people sign in at once.",
        ["service unavailable"],
    ),
}
COMPONENTS: JSON = {
    "schemas": {"Error": ERROR},
    "headers": HEADERS,
    "responses": {
        name: error_response(description, words, status)
        for name, (status, description, words) in COMMON.items()
    },
    "securitySchemes": {
        "refreshCookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": "service_refresh",
            "description": "HttpOnly, `Path=/auth`; set by the calls that sign in.",
        },
    },
}


class Schema(AutoSchema):
    """Adds limit headers and error answers to what a method says of its call."""

    def get_operation_id(self) -> str:
        """The path's last word: `completeSignup`; a method may name its call otherwise."""
        first, *rest = re.findall("[a-z]+", self.path.rpartition("/")[2])
        return str(first) + "".join(word.title() for word in rest)

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}Page"

    def get_operation(self, *args: Any) -> JSON | None:
        operation: JSON | None = super().get_operation(*args)
        if operation and isinstance(self.view, CountedView):
            answers: JSON = operation["responses"]
            for answer in answers.values():
                answer["headers"] = answer.get("headers", {}) | LIMITS
            for status, error in self.errors("requestBody" in operation).items():
                cookies = answers.get(str(status), {}).get("headers", {}) if status < 429 else {}
                if "headers" in error:
                    error["headers"] = cookies | error["headers"]
                answers[str(status)] = error
            operation["responses"] = dict(sorted(answers.items()))
        return operation

    def errors(self, has_body: bool) -> dict[int, JSON]:
        """Every error answer of the call by its status: what the method says that it raises, and
        what follows from the kind of its view."""
        answers: Any = self.get_response_serializers()
        said: dict[int, object] = answers if isinstance(answers, dict) else {}
        words = {status: one.words for status, one in said.items() if isinstance(one, Raises)}
        common = {COMMON[name][0]: name for name in self.common(has_body)}
        errors = {status: ref("responses", name) for status, name in common.items()}
        for status, raised in words.items():
            _, description, known = COMMON[common[status]] if status in common else (0, "", [])
            named = ", ".join(f"`{word}`" for word in raised)
            text = f"{named}. {description}".strip()
            errors[status] = error_response(text, [*dict.fromkeys(raised + known)], status)
        return errors

    def common(self, has_body: bool) -> list[str]:
        """The names of the errors that follow from the view's kind."""
        strict = any(issubclass(kind, CredentialThrottle) for kind in self.view.throttle_classes)
        applies = {
            "Unauthorized": bool(self.view.authentication_classes),
            "Forbidden": IsAdmin in map(type, self.view.get_permissions()),
            "NotFound": "{" in self.path,
            "UnsupportedMediaType": has_body,
            "RateLimited": not strict,
            "TooManyAttempts": strict,
        }
        return [name for name in COMMON if applies.get(name, True)]


class Bearer(OpenApiAuthenticationExtension):
    target_class = "accounts.tokens.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: object) -> JSON:
        description = "An access token (RS256), from any call that signs in."
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": description,
        }


class EnrolmentOrBearer(OpenApiAuthenticationExtension):
    target_class = "signin.factors.enrolment.EnrolmentAuthentication"
    name = "enrolment"

    def get_security_definition(self, auto_schema: object) -> JSON:
        description = "The `enrolment` of a sign-in whose company requires a second factor."
        return {"type": "http", "scheme": "bearer", "description": description}

    def get_security_requirement(self, auto_schema: object) -> list[dict[str, list[object]]]:
        return [{"bearer": []}, {self.name: []}]


class OneOf(OpenApiSerializerFieldExtension):
    target_class = "accounts.fields.OneOfField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: object, direction: object) -> JSON:
        return {"type": "string", "enum": self.target.words}


def complete(result: JSON, **options: object) -> JSON:
    """drf-spectacular's hook: adds what its generator does not see."""
    result["info"]["description"] = Path(__file__).with_suffix(".md").read_text("utf-8")
    result["servers"] = [{"url": settings.SERVICE_URL}]
    for kind, parts in COMPONENTS.items():
        result["components"][kind] = result["components"].get(kind, {}) | parts
    return result


@functools.cache
def document() -> bytes:
    """The document as JSON; made once a process, at the first request for it."""
    text = json.dumps(SchemaGenerator().get_schema(request=None, public=True))
    schema = json.loads(text, object_hook=without_enum_ids)
    return json.dumps(schema, indent=1, ensure_ascii=False).encode() + b"\n"


def without_enum_ids(part: JSON) -> JSON:
    """A JSON object without drf-spectacular's notes to itself."""
    return {key: value for key, value in part.items() if key != "x-spec-enum-id"}
