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
JsonObject = dict[str, Any]  # an object as JSON has it: of the document, of a body

STRING_LIST: JsonObject = {"type": "array", "items": {"type": "string"}}

# What apps add to the document: members of their errors beside `error`, and security schemes.
ERROR_MEMBERS: JsonObject = {}
SECURITY_SCHEMES: JsonObject = {}


def example(value: JsonObject) -> Callable[[SerializerClass], SerializerClass]:
    """Class decorator that adds an example to a serializer."""
    return extend_schema_serializer(examples=[OpenApiExample("example", value)])


class Raises(OpenApiResponse):
    """For the `responses` of `extend_schema`: the answer that `api.errors` makes of these
    exceptions, which share a status."""

    def __init__(self, *kinds: type[APIException]) -> None:
        super().__init__()
        self.words = [str(kind.default_detail) for kind in kinds]


def sets_cookie(description: str, *statuses: int) -> OpenApiParameter:
    """The Set-Cookie header of the answers with these statuses."""
    return OpenApiParameter(
        "Set-Cookie", str, OpenApiParameter.HEADER, description=description, response=[*statuses]
    )


def describe_credential(name: str, scheme: JsonObject) -> str:
    """Add a security scheme; returns its name, for an authentication class's `credentials`."""
    SECURITY_SCHEMES[name] = scheme
    return name
