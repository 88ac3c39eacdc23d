"""The OpenAPI 3.1 document: drf-spectacular's, with every call's errors and headers."""

import functools
import json
import re
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from accounts.generics import IsAdmin
from accounts.tokens import BearerAuthentication
from signin.factors.enrolment import EnrolmentAuthentication
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
        "fields": BY_FIELD | {"description": "With `invalid request`: messages by field."},
        "codes": BY_FIELD | {"description": "The codes of `fields`, the same in any language."},
        "methods": STRINGS | {"description": "With `second factor required`."},
        "cause": {
            "enum": ["wrong_code", "used_code", "old_code", "wrong_recovery_code", "wrong_passkey"],
            "description": "With `wrong code`.",
        },
        "enrolment": {"type": "string", "description": "With `second factor must be set up`."},
    },
    "additionalProperties": False,
}

# Errors that follow from a view's type: name, status and texts.
COMMON = {
    "BadRequest": (400, ["invalid request", "malformed JSON", "invalid host", "bad request"]),
    "Unauthorized": (401, ["missing or invalid token"]),
    "Forbidden": (403, ["not permitted for your role"]),
    "NotFound": (404, ["not found"]),
    "LengthRequired": (411, ["length required"]),
    "TooLarge": (413, ["request too large"]),
    "UnsupportedMediaType": (415, ["unsupported media type"]),
    "RateLimited": (429, ["rate_limited"]),
    "TooManyAttempts": (429, ["too many attempts; please try again later"]),
    "InternalError": (500, ["internal error"]),
    "Unavailable": (503, ["service unavailable"]),
}


def error_response(status: int, words: list[str]) -> JSON:
    """An answer whose `error` is one of these texts."""
    schema = {"allOf": [ref("schemas", "Error"), {"properties": {"error": {"enum": words}}}]}
    return {
        "description": ", ".join(f"`{word}`" for word in words),
        "headers": REFUSED if status == 429 else LIMITS if status < 500 else {},
        "content": {"application/json": {"schema": schema}},
    }


COMPONENTS: JSON = {
    "schemas": {"Error": ERROR},
    "headers": HEADERS,
    "responses": {name: error_response(*common) for name, common in COMMON.items()},
    "securitySchemes": {
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "An access token (RS256), from any call that signs in.",
        },
        "enrolment": {
            "type": "http",
            "scheme": "bearer",
            "description": "The `enrolment` of a sign-in whose company requires a second factor.",
        },
        "refreshCookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": "service_refresh",
            "description": "HttpOnly, `Path=/auth`; set by the calls that sign in.",
        },
    },
}
SECURITY: dict[Any, list[JSON]] = {
    BearerAuthentication: [{"bearer": []}],
    EnrolmentAuthentication: [{"bearer": []}, {"enrolment": []}],
}


class Schema(AutoSchema):
    """Adds limit headers and error answers to each call's description."""

    def get_operation_id(self) -> str:
        """The path's last word, such as `completeSignup`, unless the method sets another."""
        first, *rest = re.findall("[a-z]+", self.path.rpartition("/")[2])
        return str(first) + "".join(word.title() for word in rest)

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}Page"

    def get_auth(self) -> list[JSON]:
        return [scheme for kind in self.view.authentication_classes for scheme in SECURITY[kind]]

    def get_operation(self, *args: Any) -> JSON | None:
        operation: JSON | None = super().get_operation(*args)
        if operation and isinstance(self.view, CountedView):
            answers: JSON = operation["responses"]
            for answer in answers.values():
                answer["headers"] = answer.get("headers", {}) | LIMITS
            for status, error in self.errors("requestBody" in operation).items():
                cookies = answers.get(str(status), {}).get("headers", {})
                if "headers" in error:
                    error["headers"] = cookies | error["headers"]
                answers[str(status)] = error
            operation["responses"] = dict(sorted(answers.items()))
        return operation

    def errors(self, has_body: bool) -> dict[int, JSON]:
        """All error answers of the call by status: those that follow from its view's type, and
        those that the method declares."""
        strict = any(issubclass(kind, CredentialThrottle) for kind in self.view.throttle_classes)
        applies = {
            "Unauthorized": bool(self.view.authentication_classes),
            "Forbidden": IsAdmin in map(type, self.view.get_permissions()),
            "NotFound": "{" in self.path,
            "UnsupportedMediaType": has_body,
            "RateLimited": not strict,
            "TooManyAttempts": strict,
        }
        common = {COMMON[name][0]: name for name in COMMON if applies.get(name, True)}
        errors = {status: ref("responses", name) for status, name in common.items()}
        answers: Any = self.get_response_serializers()
        for status, answer in answers.items() if isinstance(answers, dict) else []:
            if isinstance(answer, Raises):
                words = COMMON[common[status]][1] if status in common else []
                errors[status] = error_response(status, [*dict.fromkeys(answer.words + words)])
        return errors


@functools.cache
def document() -> bytes:
    """The document as JSON; generated once in each process, at the first request."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    for kind, parts in COMPONENTS.items():
        schema["components"][kind] = schema["components"].get(kind, {}) | parts
    # drf-spectacular's internal notes.
    plain = json.loads(
        json.dumps(schema),
        object_hook=lambda part: {key: part[key] for key in part if key != "x-spec-enum-id"},
    )
    return json.dumps(plain, indent=1, ensure_ascii=False).encode() + b"\n"
