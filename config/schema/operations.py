"""Each call as the document describes it: what its method's `extend_schema` says, and what follows
from the kind of its view."""

import itertools
import re
from collections.abc import Iterable
from typing import Any

from drf_spectacular.openapi import AutoSchema

from accounts.permissions import IsAdmin
from config.errors import KNOWN
from config.parsers import MalformedJSON
from config.schema import extensions  # noqa: F401  # known to drf-spectacular once it is loaded
from config.schema.components import LIMIT_HEADERS, error_schema, openapi_response, ref
from throttling.exceptions import LengthRequired, RequestTooLarge
from throttling.openapi import JSON, Raises
from throttling.throttles import CredentialThrottle
from throttling.views import CountedView

KNOWN_WORDS = dict(KNOWN.values())
TAGS = {"account", "auth", "email-changes", "invitations", "oauth", "password-changes", "users"}
FIELDS = {"fields": "FieldErrors", "codes": "FieldCodes"}
DESCRIPTIONS = {
    400: "The request is not understood, or its token does not hold.",
    401: "Not signed in, or the credentials do not hold.",
    403: "The caller's role does not permit the call.",
    404: "There is no such thing in the caller's company.",
    409: "The state of things does not allow it.",
    411: "A chunked body: `Content-Length` is required.",
    413: "The body is longer than 64 KiB.",
    415: "The body is of another kind than the call takes.",
    429: "Too many requests: `Retry-After` says how long to wait.",
}
HEADERS = {401: [*LIMIT_HEADERS, "WWW-Authenticate"], 429: ["Retry-After"]}


def unname_single_example(media: JSON) -> None:
    """One `example` stands by itself: a choice of one would be none."""
    examples = list(media.get("examples", {}).values())
    if len(examples) == 1:
        del media["examples"]
        media["example"] = examples[0]["value"]


class Schema(AutoSchema):
    """Adds limit headers and error answers to what a method says of its call."""

    def get_operation_id(self) -> str:
        """The path's last word: `completeSignup`; a method may name its call otherwise."""
        first, *rest = re.findall("[a-z]+", self.path.rpartition("/")[2])
        return str(first) + "".join(word.title() for word in rest)

    def get_tags(self) -> list[str]:
        first = self.path.split("/")[1]
        return [first if first in TAGS else "service"]

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}Page"

    def get_operation(self, *args: Any) -> JSON | None:
        operation: JSON | None = super().get_operation(*args)
        if operation:
            self.add_errors(operation)
            for body in [operation.get("requestBody", {}), *operation["responses"].values()]:
                for media in body.get("content", {}).values():
                    unname_single_example(media)
        return operation

    def add_errors(self, operation: JSON) -> None:
        """The headers of every answer, and every error answer in the order of its status."""
        answers: JSON = operation["responses"]
        for answer in answers.values():
            default = "Done." if "content" in answer else "Done; no body."
            answer["description"] = answer["description"].replace("No response body", "") or default
        if isinstance(self.view, CountedView):
            for answer in answers.values():
                limits = {name: ref("headers", name) for name in LIMIT_HEADERS}
                answer["headers"] = answer.get("headers", {}) | limits
            for status, error in self.errors(operation).items():
                if "headers" in error and status != 429:
                    error["headers"] |= answers.get(str(status), {}).get("headers", {})
                answers[str(status)] = error
        operation["responses"] = dict(sorted(answers.items()))

    def errors(self, operation: JSON) -> dict[int, JSON]:
        """Every error answer of the call by its status."""
        valid = "requestBody" in operation or "parameters" in operation
        fields = {name: ref("schemas", kind) for name, kind in FIELDS.items()} if valid else {}
        strict = any(issubclass(kind, CredentialThrottle) for kind in self.view.throttle_classes)
        made = {429: ref("responses", "TooManyAttempts" if strict else "RateLimited")}
        made |= {
            status: openapi_response(
                DESCRIPTIONS[status],
                error_schema(words, **(fields if status == 400 else {}), **self.more(status)),
                *HEADERS.get(status, LIMIT_HEADERS),
            )
            for status, words in self.words(operation, valid).items()
        }
        return made | {
            500: ref("responses", "InternalError"),
            503: ref("responses", "Unavailable"),
        }

    def more(self, status: int) -> JSON:
        """What answers of a status have beside `error` and `fields`."""
        named = [one.more for one in self.named() if one.status == status]
        return dict(itertools.chain.from_iterable(more.items() for more in named))

    def words(self, operation: JSON, valid: bool) -> dict[int, list[str]]:
        """What `error` can say, by status; `valid`: the call has something to validate."""
        words = self.raised()
        words.setdefault(400, []).extend(["invalid request"] if valid else [])
        if "requestBody" in operation:
            words[400].append(str(MalformedJSON.default_detail))
            words[415] = [KNOWN_WORDS[415]]
        words[400] += ["invalid host", "bad request"]
        if self.view.authentication_classes:
            words.setdefault(401, []).append(KNOWN_WORDS[401])
        if IsAdmin in map(type, self.view.get_permissions()):
            words[403] = [KNOWN_WORDS[403]]
        if "{" in self.path:
            words[404] = [KNOWN_WORDS[404]]
        for kind in (LengthRequired, RequestTooLarge):
            words[kind.status_code] = [str(kind.default_detail)]
        return words

    def raised(self) -> dict[int, list[str]]:
        """The words of the exceptions that the method names, by status."""
        return {one.status: list(one.words) for one in self.named()}

    def named(self) -> list[Raises]:
        """What the method says that it raises."""
        answers = self.get_response_serializers()
        values: Iterable[object] = answers.values() if isinstance(answers, dict) else []
        return [one for one in values if isinstance(one, Raises)]
