"""The parts of the document that all calls share: error answers, limit headers, security."""

from config.errors import KNOWN
from throttling.exceptions import RateLimited
from throttling.openapi import JSON
from throttling.throttles import CredentialThrottle

LIMIT_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]
STRINGS = {"type": "array", "items": {"type": "string"}}


def ref(kind: str, name: str) -> JSON:
    return {"$ref": f"#/components/{kind}/{name}"}


def error_schema(words: list[str], **fields: JSON) -> JSON:
    """The schema of `{"error": one of the words}`, with further fields where a case has them."""
    error = {"type": "string", "enum": list(dict.fromkeys(words))}
    return {
        "type": "object",
        "required": ["error"],
        "properties": {"error": error} | fields,
        "additionalProperties": False,
    }


def openapi_response(description: str, schema: JSON, *headers: str) -> JSON:
    """The answer to an error, with an example for each of its words."""
    return {
        "description": description,
        "headers": {name: ref("headers", name) for name in headers},
        "content": {"application/json": {"schema": schema, "examples": error_examples(schema)}},
    }


def error_examples(schema: JSON) -> JSON:
    """Each error as it is answered, under its own words."""
    properties = schema["properties"]
    values = {word: {"error": word} for word in properties["error"]["enum"]}
    if "fields" in properties:
        wrong = {"fields": {"email": ["This field is required."]}, "codes": {"email": ["required"]}}
        values["invalid request"] |= wrong
    if "message" in properties:
        values = {word: value | {"message": RateLimited.message} for word, value in values.items()}
    return {word: {"value": value} for word, value in values.items()}


def number_header(description: str, lowest: int) -> JSON:
    schema = {"type": "integer", "minimum": lowest}
    return {"description": description, "required": True, "schema": schema}


SCHEMAS = {
    "FieldErrors": {
        "type": "object",
        "description": "What is wrong, by field; only where a body or query is invalid.",
        "additionalProperties": {
            "anyOf": [STRINGS, {"type": "object", "additionalProperties": STRINGS}]
        },
        "examples": [{"password": ["This field is required."]}],
    },
    "FieldCodes": {
        "type": "object",
        "description": "The same for programs: a code for each sentence, in any language the same.",
        "additionalProperties": {
            "anyOf": [STRINGS, {"type": "object", "additionalProperties": STRINGS}]
        },
        "examples": [{"password": ["required"]}],
    },
}
HEADERS = {
    "x-ratelimit-limit": number_header("Requests allowed in the window.", 1),
    "x-ratelimit-remaining": number_header("Requests left in the window.", 0),
    "x-ratelimit-reset": number_header("Seconds until the window ends.", 1),
    "Retry-After": number_header("Seconds to wait before trying again.", 1),
    "WWW-Authenticate": {"required": True, "schema": {"const": "Bearer"}},
}
RATE_LIMITED = error_schema([str(RateLimited.default_detail)], message={"type": "string"})
RATE_LIMITED["required"].append("message")
RESPONSES = {
    "RateLimited": openapi_response(
        "The tier's limit is exhausted.", RATE_LIMITED, "Retry-After", "x-ratelimit-remaining"
    ),
    "TooManyAttempts": openapi_response(
        "The credential tier is exhausted, or the e-mail address is locked: the same answer for "
        "both, so that they cannot be told apart. No `x-ratelimit-*` header.",
        error_schema([str(CredentialThrottle.exceeded.default_detail)]),
        "Retry-After",
    ),
    "InternalError": openapi_response("A fault of ours.", error_schema(["internal error"])),
    "Unavailable": openapi_response(
        "The database is unreachable; or, with a `Retry-After`, too many people sign in at once.",
        error_schema([dict(KNOWN.values())[503]]),
    ),
}
SECURITY = {
    "refreshCookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "service_refresh",
        "description": "HttpOnly, `Path=/auth`; set by the calls that sign in.",
    },
}
SHARED = {
    "schemas": SCHEMAS,
    "headers": HEADERS,
    "responses": RESPONSES,
    "securitySchemes": SECURITY,
}
