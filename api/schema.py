"""The OpenAPI 3.1 document. drf-spectacular describes the calls; this adds each call's errors and
rate-limit headers."""

import functools
import json
import re
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from api.openapi import ERROR_MEMBERS, SECURITY_SCHEMES, STRING_LIST, JsonObject
from api.views import CountedView, IsAdmin, ProtectedView
from throttling.throttles import CredentialThrottle


def ref_to(kind: str, name: str) -> JsonObject:
    return {"$ref": f"#/components/{kind}/{name}"}


RATE_LIMIT_HEADERS = {
    name: {"description": text, "required": True, "schema": {"type": "integer", "minimum": minimum}}
    for name, text, minimum in [
        ("x-ratelimit-limit", "Requests allowed in the window.", 1),
        ("x-ratelimit-remaining", "Requests left in the window.", 0),
        ("x-ratelimit-reset", "Seconds until the window ends.", 1),
        ("Retry-After", "Seconds to wait before trying again.", 1),
    ]
}
LIMIT_HEADERS = {
    name: ref_to("headers", name) for name in RATE_LIMIT_HEADERS if name.startswith("x-")
}
RETRY_HEADER = {"Retry-After": ref_to("headers", "Retry-After")}
FIELD_MESSAGES = {"anyOf": [STRING_LIST, {"type": "object", "additionalProperties": STRING_LIST}]}
MESSAGES_BY_FIELD: JsonObject = {
    "type": "object",
    "additionalProperties": FIELD_MESSAGES,
    "description": "With `invalid request`: messages by field.",
}
CODES_BY_FIELD = MESSAGES_BY_FIELD | {
    "description": "The codes of `fields`, the same in any language."
}
ERROR_SCHEMA: JsonObject = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string"},
        "message": {"type": "string", "description": "With `rate_limited`."},
        "fields": MESSAGES_BY_FIELD,
        "codes": CODES_BY_FIELD,
    },
    "additionalProperties": False,
}

# Errors of many calls, which follow from the view's class: their names, statuses and texts.
# Of those with one status that a call may have, the last one counts.
COMMON_ERRORS = {
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


def error_response(status: str, texts: list[str]) -> JsonObject:
    """The description of an answer with this status ("404") and one of these texts as `error`."""
    schema = {"allOf": [ref_to("schemas", "Error"), {"properties": {"error": {"enum": texts}}}]}
    return {
        "description": ", ".join(f"`{text}`" for text in texts),
        "headers": RETRY_HEADER if status == "429" else LIMIT_HEADERS if status < "500" else {},
        "content": {"application/json": {"schema": schema}},
    }


COMPONENTS: JsonObject = {
    "schemas": {"Error": ERROR_SCHEMA},
    "headers": RATE_LIMIT_HEADERS,
    "responses": {name: error_response(*error) for name, error in COMMON_ERRORS.items()},
    "securitySchemes": SECURITY_SCHEMES,
}


class Schema(AutoSchema):
    """Adds limit headers and error answers to each call's description."""

    def get_operation_id(self) -> str:
        """The path's last segment in camel case (`completeSignup`), if a call sets no id itself."""
        segment = str(self.path.rpartition("/")[2])
        return re.sub("[^a-z]+([a-z])", lambda match: match[1].upper(), segment)

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}Page"

    def get_auth(self) -> list[JsonObject]:
        """The credentials with which a client may make the call, any one of them; [] if public."""
        classes: Any = self.view.authentication_classes
        credentials: list[JsonObject] = [
            {name: []} for authentication in classes for name in authentication.credentials
        ]
        scope = self.key_scope()
        if scope is not None:
            credentials.append({"apiKey": [scope] if scope else []})
        return credentials

    def key_scope(self) -> str | None:
        """The scope that an API key needs for the call; "" if any key may make it, None if none."""
        return self.view.scope_for(self.method) if isinstance(self.view, ProtectedView) else None

    def get_operation(self, *args: Any) -> JsonObject | None:
        """The description of a call, or None if the document leaves it out: drf-spectacular's, with
        limit headers, the COMMON_ERRORS that apply to the view's class, and the texts of the errors
        that the view declares. Each status from 400 in `extend_schema(responses=…)` is a `Raises`.
        """
        operation: JsonObject | None = super().get_operation(*args)
        if not operation or not isinstance(self.view, CountedView):
            return operation
        throttles = self.view.get_throttles()
        is_credential_call = any(isinstance(throttle, CredentialThrottle) for throttle in throttles)
        applies = {
            "Unauthorized": bool(self.view.authentication_classes),
            "Forbidden": IsAdmin in map(type, self.view.get_permissions()),
            "ForbiddenToKeys": bool(self.key_scope()),
            "NotFound": "{" in self.path,
            "UnsupportedMediaType": "requestBody" in operation,
            "RateLimited": not is_credential_call,
            "TooManyAttempts": is_credential_call,
        }
        common_names = {
            COMMON_ERRORS[name][0]: name for name in COMMON_ERRORS if applies.get(name, True)
        }
        responses: JsonObject = operation["responses"]
        declared_errors: Any = self.get_response_serializers()
        for status, response in responses.items():
            headers = RETRY_HEADER if status == "429" else LIMIT_HEADERS
            response["headers"] = response.get("headers", {}) | headers
            if status >= "400":
                texts = COMMON_ERRORS[common_names[status]][1] if status in common_names else []
                texts = [*dict.fromkeys(declared_errors[int(status)].texts + texts)]
                responses[status] = error_response(status, texts) | {"headers": response["headers"]}
        for status, name in common_names.items():
            responses.setdefault(status, ref_to("responses", name))
        operation["responses"] = dict(sorted(responses.items()))
        return operation


@functools.cache
def openapi_json() -> bytes:
    """The OpenAPI document as JSON in UTF-8."""
    schema = SchemaGenerator().get_schema(request=None, public=True)
    ERROR_SCHEMA["properties"] |= ERROR_MEMBERS
    for kind, parts in COMPONENTS.items():
        schema["components"][kind] = schema["components"].get(kind, {}) | parts
    return json.dumps(schema, indent=1, ensure_ascii=False).encode() + b"\n"
