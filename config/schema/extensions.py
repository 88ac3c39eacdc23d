"""drf-spectacular's extension points: what it cannot know of this service's own classes."""

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerFieldExtension,
)


class Bearer(OpenApiAuthenticationExtension):
    target_class = "accounts.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: object) -> dict[str, object]:
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "An access token (RS256), from any call that signs in.",
        }


class EnrolmentOrBearer(OpenApiAuthenticationExtension):
    target_class = "signin.factors.enrolment.EnrolmentAuthentication"
    name = "enrolment"

    def get_security_definition(self, auto_schema: object) -> dict[str, object]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "What a sign-in answers with whose company requires a second factor.",
        }

    def get_security_requirement(self, auto_schema: object) -> list[dict[str, list[object]]]:
        return [{"bearer": []}, {self.name: []}]


class OneOf(OpenApiSerializerFieldExtension):
    target_class = "accounts.fields.OneOfField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: object, direction: object) -> dict[str, object]:
        return {"type": "string", "enum": self.target.words}
