"""drf-spectacular's extension points: what it cannot know of this service's own classes."""

from typing import Any

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerFieldExtension,
)


class Bearer(OpenApiAuthenticationExtension):
    target_class = "accounts.authentication.BearerAuthentication"
    match_subclasses = True
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "An access token (RS256), from any call that signs in.",
        }


class OneOf(OpenApiSerializerFieldExtension):
    target_class = "accounts.fields.OneOfField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        return {"type": "string", "enum": self.target.words}
