"""Helpers for describing calls to drf-spectacular."""

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema_serializer,
)
from rest_framework.exceptions import APIException
from rest_framework.serializers import BaseSerializer

SerializerClass = TypeVar("SerializerClass", bound=type[BaseSerializer])
JsonObject = dict[str, Any]

STRING_LIST: JsonObject = {"type": "array", "items": {"type": "string"}}

# Apps add to these, by name: members of error bodies besides `error`, and security schemes.
ERROR_MEMBERS: JsonObject = {}
SECURITY_SCHEMES: JsonObject = {}


def example(value: JsonObject) -> Callable[[SerializerClass], SerializerClass]:
    """A class decorator that gives a serializer its example in the document."""
    return extend_schema_serializer(examples=[OpenApiExample("example", value)])


class Raises(OpenApiResponse):
    """A value of `extend_schema(responses=…)`: the answer to any of these exceptions of one
    status."""

    def __init__(self, *exceptions: type[APIException]) -> None:
        super().__init__()
        self.texts = [str(exception.default_detail) for exception in exceptions]


def sets_cookie(description: str, *statuses: int) -> OpenApiParameter:
    """The Set-Cookie header of answers with these statuses."""
    return OpenApiParameter(
        "Set-Cookie", str, OpenApiParameter.HEADER, description=description, response=[*statuses]
    )


def describe_credential(name: str, scheme: JsonObject) -> str:
    """Add a security scheme to the document. Returns its name, for `credentials` of its class."""
    SECURITY_SCHEMES[name] = scheme
    return name
