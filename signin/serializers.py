"""Serializers of requests and responses of sign-in, and their examples in the API's description."""

from rest_framework import serializers

from accounts.fields import CompanyNameField, NameField, NewPasswordField, PasswordField
from accounts.serializers import ADA_RESPONSE, UserResponse
from api.fields import EmailField, FlagField, TextField
from api.openapi import example, sets_cookie
from audit.models import AuditEvent, Kind
from base.caller import browser_and_system, network_of
from base.emails import new_email
from signin.cookies import read_user_values
from signin.devices import DEVICE_COOKIE, Device, hash_of_secret
from signin.factors.methods import Method
from signin.factors.serializers import EXAMPLE_FACTOR, FactorFields, FactorResponse

EXAMPLE_LINK_TOKEN = "AZOsR1Wb…"  # noqa: S105
ADA = {"first_name": "Ada", "last_name": "Lovelace", "password": "correct horse battery"}
EXAMPLE_JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0.eyJzdWIiOiIwYjlhM2E1MiJ9.c2lnbmF0dXJl"
SIGN_IN_RESPONSE = {
    "access_token": EXAMPLE_JWT,
    "refresh_token": EXAMPLE_JWT,
    "token_type": "Bearer",
    "user": ADA_RESPONSE,
}
SETS_REFRESH_COOKIE = sets_cookie(
    "`service_refresh`: the refresh token; HttpOnly, `Path=/auth`.", 200
)
CLEARS_REFRESH_COOKIE = sets_cookie("`service_refresh`, emptied.", 204)


@example({"email": "ada@example.com"})
class EmailSerializer(serializers.Serializer):
    email = EmailField()


class NewEmailSerializer(EmailSerializer):
    email = EmailField(new_email)


@example({"email": "ada@example.com", "password": ADA["password"]})
class LoginSerializer(FactorFields):
    email = EmailField()
    password = PasswordField()


@example({"token": EXAMPLE_LINK_TOKEN})
class TokenSerializer(serializers.Serializer):
    token = TextField(max_length=512)


@example({"token": EXAMPLE_LINK_TOKEN, "account_name": "Analytical Engines"} | ADA)
class CompleteSignupSerializer(TokenSerializer):
    account_name = CompanyNameField(max_length=200)
    first_name = NameField(max_length=150)
    last_name = NameField(max_length=150)
    password = NewPasswordField()


@example({"refresh_token": EXAMPLE_JWT})
class RefreshSerializer(serializers.Serializer):
    refresh_token = TextField(required=False, allow_blank=True, trim_whitespace=False)


@example(SIGN_IN_RESPONSE)
class AuthResponse(serializers.Serializer):
    access_token = serializers.CharField(help_text="JWT (RS256), to be sent as a bearer token.")
    refresh_token = serializers.CharField(help_text="JWT (RS256), for `POST /auth/refresh`.")
    token_type = serializers.ChoiceField(["Bearer"])
    user = UserResponse()


@example({"factor": EXAMPLE_FACTOR, "recovery_codes": ["MFRG-GZDF-MZTW-Q2LK"], "session": None})
class AddedResponse(serializers.Serializer):
    """The new factor; for a first one also recovery codes and a session."""

    factor = FactorResponse()
    recovery_codes = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="With the first factor; shown only once.",
    )
    session = AuthResponse(allow_null=True, help_text="With the first factor: it ends all others.")


@example({"message": "If the address is available, a sign-up link is on its way."})
class MessageSerializer(serializers.Serializer):
    message = serializers.CharField()


@example(
    {
        "id": "5d3b2a10-7f64-4a0e-9a3c-2f6f1c0d8e77",
        "name": "Firefox, Windows",
        "network": "203.0.113.0/24",
        "created_at": "2026-03-02T08:45:00.500000Z",
        "used_at": "2026-03-03T07:10:30.120000Z",
        "current": True,
    }
)
class DeviceSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField(help_text="Browser and system, as far as they are known.")
    network = serializers.CharField(help_text="The network of the last sign-in, if known.")
    created_at = serializers.DateTimeField()
    used_at = serializers.DateTimeField(help_text="When the user last signed in with it.")
    current = serializers.SerializerMethodField(help_text="Whether this request came from it.")

    def get_current(self, device: Device) -> bool:
        secrets = read_user_values(self.context["request"], DEVICE_COOKIE)
        digests = map(hash_of_secret, secrets)
        return device.digest in digests


@example(
    {
        "at": "2026-03-03T07:10:30.120000Z",
        "browser": "Firefox",
        "system": "Windows",
        "network": "203.0.113.0/24",
        "way": "passkey_alone",
    }
)
class SignInSerializer(serializers.Serializer):
    at = serializers.DateTimeField()
    browser = serializers.SerializerMethodField(help_text="Its name, if known.")
    system = serializers.SerializerMethodField(help_text="Its name, if known.")
    network = serializers.SerializerMethodField(help_text="The client's network.")
    way = serializers.SerializerMethodField(help_text="`link`, or how the user signed in.")

    def get_browser(self, event: AuditEvent) -> str:
        return browser_and_system(event.agent)[0]

    def get_system(self, event: AuditEvent) -> str:
        return browser_and_system(event.agent)[1]

    def get_network(self, event: AuditEvent) -> str:
        return network_of(event.address)

    def get_way(self, event: AuditEvent) -> str:
        if event.kind != Kind.LOGIN_SUCCEEDED:
            return "link"
        return str(event.detail.get("method", Method.PASSWORD.value))


@example({"mails": False})
class SignInMailsSerializer(serializers.Serializer):
    mails = FlagField()


class SignInsResponse(serializers.Serializer):
    items = SignInSerializer(many=True)
    mails = serializers.BooleanField(
        help_text="Whether the first sign-in with a browser is mailed to the user.",
    )
