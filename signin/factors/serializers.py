"""Requests and responses of the calls about second factors."""

from typing import Any

from rest_framework import serializers

from accounts.fields import NameField, PasswordField
from api.fields import ObjectField, TextField
from api.openapi import example

EXAMPLE_FACTOR = {
    "id": "5f0e8a5e-7b0a-4b57-9d0c-0c3f2f6c1a77",
    "kind": "passkey",
    "name": "Ada's telephone",
    "created_at": "2026-03-02T08:30:00.120000Z",
    "last_used_at": None,
}


class FactorFields(serializers.Serializer):
    """Users with a second factor also send `code` or `passkey`."""

    code = TextField(
        required=False,
        max_length=64,
        help_text="Six digits from the authenticator app, or a recovery code.",
    )
    passkey = ObjectField(required=False, help_text="An AuthenticationResponseJSON.")


@example({"password": "correct horse battery", "code": "287082"})
class ProofSerializer(FactorFields):
    """Needs `password` or `proof`."""

    password = PasswordField(required=False)
    proof = TextField(
        required=False,
        max_length=1000,
        help_text="In place of the password, from POST /auth/sso/confirm.",
    )

    def to_internal_value(self, data: Any) -> Any:
        """Also raises ValidationError if `password` and `proof` are both missing."""
        self.fields["password"].required = "proof" not in data
        return super().to_internal_value(data)


class NamedSerializer(serializers.Serializer):
    name = NameField(max_length=60, required=False, allow_blank=True)


@example({"name": "Ada's telephone"})
class RenameSerializer(serializers.Serializer):
    name = NameField(max_length=60)


@example({"id": "gAAAAABm…", "code": "287082", "name": "Ada's telephone"})
class ConfirmSerializer(NamedSerializer):
    id = TextField(max_length=512)
    code = TextField(max_length=64)


class NewPasskeySerializer(NamedSerializer):
    credential = ObjectField(help_text="A RegistrationResponseJSON.")


class PasskeyLoginSerializer(serializers.Serializer):
    credential = ObjectField(help_text="An AuthenticationResponseJSON.")


@example(EXAMPLE_FACTOR)
class FactorResponse(serializers.Serializer):
    id = serializers.UUIDField()
    kind = serializers.ChoiceField(["totp", "passkey"])
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)


@example({"items": [EXAMPLE_FACTOR], "recovery_codes_left": 10, "required": False})
class FactorsResponse(serializers.Serializer):
    items = FactorResponse(many=True)
    recovery_codes_left = serializers.IntegerField()
    required = serializers.BooleanField(  # type: ignore[assignment]
        help_text="The company requires a second factor."
    )


@example({"id": "gAAAAABm…", "secret": "MFRGG…", "uri": "otpauth://totp/…", "qr": "<svg …"})
class TotpResponse(serializers.Serializer):
    id = serializers.CharField(help_text="For the call that confirms the app.")
    secret = serializers.CharField(help_text="Base32, to be typed into the app.")
    uri = serializers.CharField(help_text="The `otpauth://` URI of the QR code.")
    qr = serializers.CharField(help_text="An SVG.")


@example({"publicKey": {"challenge": "q83vEjRWeJA", "rpId": "example.com", "timeout": 300000}})
class OptionsResponse(serializers.Serializer):
    publicKey = serializers.DictField(help_text="For `navigator.credentials`.")  # noqa: N815


@example({"recovery_codes": ["MFRG-GZDF-MZTW-Q2LK"]})
class RecoveryCodesResponse(serializers.Serializer):
    recovery_codes = serializers.ListField(child=serializers.CharField())
