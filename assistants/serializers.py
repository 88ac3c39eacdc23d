"""What a client says of itself when it registers, and how a grant looks to whom it acts for."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from accounts.fields import TextField
from assistants import redirects
from throttling.openapi import example

SCOPE = "mcp"  # there is one: acting for a person as far as the person may
GRANT_TYPES = ["authorization_code", "refresh_token"]


MOST_URIS = 10
LONGEST_URI = 2000
LONGEST_NAME = 100


class RedirectURIsField(serializers.ListField):
    """Those of the URIs that a client may have (`redirects.split`), ten at most. The others are
    left out, as RFC 7591 §2 allows: programs send all that they can do."""

    def __init__(self) -> None:
        super().__init__(child=TextField(max_length=LONGEST_URI), min_length=1)

    def to_internal_value(self, data: object) -> list[str]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        texts = [uri for uri in data if isinstance(uri, str) and len(uri) <= LONGEST_URI]
        found = [uri for uri in dict.fromkeys(texts) if redirects.split(uri) is not None]
        if not found:
            self.fail("min_length", min_length=1)
        return found[:MOST_URIS]


class ClientNameField(TextField):
    """A name that people are shown: cut, and without what turns the text around or is invisible."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        shown = "".join(c if c.isprintable() else " " for c in data)
        return " ".join(shown.split())[:LONGEST_NAME].strip()


class RegistrationSerializer(serializers.Serializer):
    """Client metadata (RFC 7591 §2). What else there is, is ignored: a client is shown by its name
    alone, and has what every client has. What it asks for and cannot have is replaced (§3.2.1)."""

    redirect_uris = RedirectURIsField()
    client_name = ClientNameField(default="", allow_blank=True)
    token_endpoint_auth_method = TextField(default="none")
    grant_types = serializers.ListField(child=TextField(), default=GRANT_TYPES)
    response_types = serializers.ListField(child=TextField(), default=["code"])

    def to_internal_value(self, data: Mapping[str, object]) -> Any:
        """A member that is null is one that is absent, as serializers of many languages write."""
        return super().to_internal_value({k: v for k, v in data.items() if v is not None})

    def validate_token_endpoint_auth_method(self, value: str) -> str:
        return "none"  # clients here are public, whatever they would like to be

    def validate_grant_types(self, value: list[str]) -> list[str]:
        if "authorization_code" not in value:
            raise serializers.ValidationError("Must hold authorization_code.")
        return GRANT_TYPES

    def validate_response_types(self, value: list[str]) -> list[str]:
        if "code" not in value:
            raise serializers.ValidationError("Must hold code.")
        return ["code"]


class Registered(RegistrationSerializer):
    """What a client has been registered as (RFC 7591 §3.2.1)."""

    client_id = serializers.UUIDField()
    client_id_issued_at = serializers.IntegerField()
    scope = serializers.ChoiceField([SCOPE])


class ProtectedResource(serializers.Serializer):
    resource = serializers.URLField()
    authorization_servers = serializers.ListField(child=serializers.URLField())
    scopes_supported = serializers.ListField(child=serializers.CharField())
    bearer_methods_supported = serializers.ListField(child=serializers.CharField())
    resource_name = serializers.CharField()


class AuthorizationServer(serializers.Serializer):
    issuer = serializers.URLField()
    authorization_endpoint = serializers.URLField()
    token_endpoint = serializers.URLField()
    registration_endpoint = serializers.URLField()
    revocation_endpoint = serializers.URLField()
    jwks_uri = serializers.URLField()
    scopes_supported = serializers.ListField(child=serializers.CharField())
    response_types_supported = serializers.ListField(child=serializers.CharField())
    response_modes_supported = serializers.ListField(child=serializers.CharField())
    grant_types_supported = serializers.ListField(child=serializers.CharField())
    token_endpoint_auth_methods_supported = serializers.ListField(child=serializers.CharField())
    revocation_endpoint_auth_methods_supported = serializers.ListField(
        child=serializers.CharField()
    )
    code_challenge_methods_supported = serializers.ListField(child=serializers.CharField())
    authorization_response_iss_parameter_supported = serializers.BooleanField()
    client_id_metadata_document_supported = serializers.BooleanField()


class TokenForm(serializers.Serializer):
    """The form of the token endpoint; which fields are needed depends on `grant_type`."""

    grant_type = serializers.ChoiceField(GRANT_TYPES)
    client_id = serializers.CharField()
    code = serializers.CharField(required=False)
    redirect_uri = serializers.CharField(required=False)
    code_verifier = serializers.CharField(required=False)
    refresh_token = serializers.CharField(required=False)
    resource = serializers.CharField(required=False)
    scope = serializers.CharField(required=False)


class TokenPair(serializers.Serializer):
    access_token = serializers.CharField(help_text="JWT, RS256, for the MCP endpoint.")
    token_type = serializers.ChoiceField(["Bearer"])
    expires_in = serializers.IntegerField(help_text="Seconds.")
    refresh_token = serializers.CharField(help_text="Replaces the one before.")
    scope = serializers.ChoiceField([SCOPE])


class RevocationForm(serializers.Serializer):
    token = serializers.CharField()
    client_id = serializers.CharField()


@example(
    {
        "id": "9e2b7a54-0c1d-4c88-8f57-0e3a5d1b6c20",
        "client_name": "Claudia",
        "host": "assistant.example",
        "created_at": "2026-03-02T08:45:00.500000Z",
        "used_at": "2026-03-03T07:10:30.120000Z",
        "expires_at": "2026-04-01T08:45:00.500000Z",
    }
)
class GrantSerializer(serializers.Serializer):
    """A grant, loaded with its client: which assistant, where its answers go, since when."""

    id = serializers.UUIDField()
    client_name = serializers.CharField(source="client.name", help_text="What it calls itself.")
    host = serializers.CharField(help_text="Where its answers go.")
    created_at = serializers.DateTimeField()
    used_at = serializers.DateTimeField(help_text="When it last got a token.")
    expires_at = serializers.DateTimeField()
