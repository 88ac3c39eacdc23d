"""What a client says of itself when it registers, and how a grant looks to whom it acts for."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from accounts.serializers import TextField
from assistants import redirects
from assistants.models import Grant

GRANT_TYPES = ["authorization_code", "refresh_token"]


class RedirectURIField(TextField):
    """https, or http on the person's own machine."""

    default_error_messages = {"uri": "Must be https, or http to a loopback address."}

    def to_internal_value(self, data: Any) -> str:
        uri = super().to_internal_value(data)
        if redirects.split(uri) is None:
            self.fail("uri")
        return uri


class ClientNameField(TextField):
    """A name that people are shown: nothing in it turns the text around, or is invisible."""

    default_error_messages = {"name": "Must be printable text."}

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if not name.isprintable():
            self.fail("name")
        return name


class RegistrationSerializer(serializers.Serializer[Any]):
    """Client metadata (RFC 7591 §2). What else there is, is ignored: a client is shown by its name
    alone, and has what every client has."""

    redirect_uris = serializers.ListField(
        child=RedirectURIField(max_length=2000), min_length=1, max_length=10
    )
    client_name = ClientNameField(max_length=100, default="", allow_blank=True)
    token_endpoint_auth_method = TextField(default="none")
    grant_types = serializers.ListField(child=TextField(), default=GRANT_TYPES)
    response_types = serializers.ListField(child=TextField(), default=["code"])

    def validate_token_endpoint_auth_method(self, value: str) -> str:
        if value != "none":
            raise serializers.ValidationError("Clients here are public: none.")
        return value

    def validate_grant_types(self, value: list[str]) -> list[str]:
        if "authorization_code" not in value:
            raise serializers.ValidationError("Must hold authorization_code.")
        return GRANT_TYPES

    def validate_response_types(self, value: list[str]) -> list[str]:
        if "code" not in value:
            raise serializers.ValidationError("Must hold code.")
        return ["code"]


class GrantSerializer(serializers.Serializer[Any]):
    """A grant, loaded with its client: which assistant, where its answers go, since when."""

    id = serializers.UUIDField()
    client_name = serializers.CharField(source="client.name")
    host = serializers.CharField()
    created_at = serializers.DateTimeField()
    used_at = serializers.SerializerMethodField()
    expires_at = serializers.SerializerMethodField()

    def get_used_at(self, grant: Grant) -> datetime:
        return grant.used_at or grant.created_at

    def get_expires_at(self, grant: Grant) -> datetime:
        return grant.created_at + grant.life()
