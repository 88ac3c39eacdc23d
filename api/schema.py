"""The OpenAPI 3.1 document: drf-spectacular's, with every call's errors and headers."""

import functools
import json
import re
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from api.openapi import ERROR_MEMBERS, JSON, SECURITY_SCHEMES, STRINGS
from api.views import CountedView, IsAdmin, ProtectedView
from throttling.throttles import CredentialThrottle


def ref_to(kind: str, name: str) -> JSON:
    return {"$ref": f"#/components/{kind}/{name}"}


HEADERS = {
    name: {"description": text, "required": True, "schema": {"type": "integer", "minimum": lowest}}
    for name, text, lowest in [
        ("x-ratelimit-limit", "Requests allowed in the window.", 1),
        ("x-ratelimit-remaining", "Requests left in the window.", 0),
        ("x-ratelimit-reset", "Seconds until the window ends.", 1),
        ("Retry-After", "Seconds to wait before trying again.", 1),
    ]
}
LIMITS = {name: ref_to("headers", name) for name in HEADERS if name.startswith("x-")}
RETRY = {"Retry-After": ref_to("headers", "Retry-After")}
TEXTS = {"anyOf": [STRINGS, {"type": "object", "additionalProperties": STRINGS}]}
BY_FIELD = {"type": "object", "additionalProperties": TEXTS}
ERROR: JSON = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string"},
        "message": {"type": "string", "description": "With `rate_limited`."},
        "fields": BY_FIELD | {"description": "With `invalid request`: messages by field."},
        "codes": BY_FIELD | {"description": "The codes of `fields`, the same in any language."},
    },
    "additionalProperties": False,
}

# Errors that follow from a view's type: name, status and texts.
COMMON = {
    "BadRequest": ("400", ["invalid request", "malformed JSON", "invalid host", "bad request"]),
    "Unauthorized": ("401", ["missing or invalid token"]),
    "Forbidden": ("403", ["not permitted for your role"]),
    "ForbiddenToKeys": ("403", ["not permitted for your role", "not permitted for this key"]),
    "NotFound": ("404", ["not found"]),
    "TooLarge": ("413", ["request too large"]),
    "UnsupportedMediaType": ("415", ["unsupported media type"]),
    "RateLimited": ("429", ["rate_limited"]),
    "TooManyAttempts": ("429", ["too many attempts; please try again later"]),
    "InternalError": ("500", ["internal error"]),
    "Unavailable": ("503", ["service unavailable"]),
}


def error_response(status: str, words: list[str]) -> JSON:
    """An answer whose `error` is one of these texts."""
    schema = {"allOf": [ref_to("schemas", "Error"), {"properties": {"error": {"enum": words}}}]}
    return {
        "description": ", ".join(f"`{word}`" for word in words),
        "headers": RETRY if status == "429" else LIMITS if status < "500" else {},
        "content": {"application/json": {"schema": schema}},
    }


COMPONENTS: JSON = {
    "schemas": {"Error": ERROR},
    "headers": HEADERS,
    "responses": {name: error_response(*common) for name, common in COMMON.items()},
    "securitySchemes": SECURITY_SCHEMES,
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
        kinds: Any = self.view.authentication_classes
        credentials: list[JSON] = [{name: []} for kind in kinds for name in kind.credentials]
        scope = self.key_scope()
        if scope is not None:
            credentials.append({"apiKey": [scope] if scope else []})
        return credentials

    def key_scope(self) -> str | None:
        """The scope that an API key needs; None for a call that takes no key."""
        return self.view.scope_for(self.method) if isinstance(self.view, ProtectedView) else None

    def get_operation(self, *args: Any) -> JSON | None:
        operation: JSON | None = super().get_operation(*args)
        if not operation or not isinstance(self.view, CountedView):
            return operation
        strict = any(isinstance(one, CredentialThrottle) for one in self.view.get_throttles())
        applies = {
            "Unauthorized": bool(self.view.authentication_classes),
            "Forbidden": IsAdmin in map(type, self.view.get_permissions()),
            "ForbiddenToKeys": bool(self.key_scope()),
            "NotFound": "{" in self.path,
            "UnsupportedMediaType": "requestBody" in operation,
            "RateLimited": not strict,
            "TooManyAttempts": strict,
        }
        common = {COMMON[name][0]: name for name in COMMON if applies.get(name, True)}
        answers: JSON = operation["responses"]
        declared: Any = self.get_response_serializers()
        for status, answer in answers.items():
            answer["headers"] = answer.get("headers", {}) | (RETRY if status == "429" else LIMITS)
            if status >= "400":  # declared by `Raises`
                words = COMMON[common[status]][1] if status in common else []
                words = [*dict.fromkeys(declared[int(status)].words + words)]
                answers[status] = error_response(status, words) | {"headers": answer["headers"]}
        for status, name in common.items():
            answers.setdefault(status, ref_to("responses", name))
        operation["responses"] = dict(sorted(answers.items()))
        return operation


@functools.cache
def openapi_json() -> bytes:
    """The document as JSON; generated once in each process, at the first request."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    ERROR["properties"] |= ERROR_MEMBERS
    for kind, parts in COMPONENTS.items():
        schema["components"][kind] = schema["components"].get(kind, {}) | parts
    return json.dumps(schema, indent=1, ensure_ascii=False).encode() + b"\n"
