"""The /auth calls as the OpenAPI document describes them; applied to the views when it is made."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
    inline_serializer,
)
from rest_framework import serializers

from accounts import serializers as bodies
from accounts import views
from accounts.exceptions import (
    EmailTaken,
    InvalidLink,
    InvalidRefreshToken,
    LastAdmin,
    WrongCredentials,
)
from accounts.models import Role

LANGUAGES = [code for code, _ in settings.LANGUAGES]
PLAIN = r"^[^\u0000-\u001f\u007f-\u009f]*$"  # no control characters

extend_schema_field({"type": "string", "format": "email", "minLength": 3, "maxLength": 254})(
    bodies.EmailField
)
extend_schema_field({"type": "boolean"})(bodies.FlagField)
extend_schema_field(
    {"type": "string", "format": "password", "minLength": 8, "maxLength": 256, "pattern": PLAIN}
)(bodies.NewPasswordField)
extend_schema_field({"type": "string", "format": "password", "minLength": 1, "maxLength": 256})(
    bodies.PasswordField
)


class Bearer(OpenApiAuthenticationExtension):
    target_class = "accounts.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer"}


class OneOf(OpenApiSerializerFieldExtension):
    target_class = "accounts.serializers.OneOfField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        return {"type": "string", "enum": self.target.words}


class UserSettings(serializers.Serializer[Any]):
    language = serializers.ChoiceField(LANGUAGES)


class UserResponse(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    account_id = serializers.UUIDField(help_text="The company.")
    email = serializers.EmailField()
    first_name = serializers.CharField()
    last_name = serializers.CharField()
    role = serializers.ChoiceField(Role.values)
    created_at = serializers.DateTimeField()
    consultant_id = serializers.UUIDField(
        allow_null=True, help_text="The linked consultant profile: it opens the self-service areas."
    )
    settings = UserSettings()
    is_manager = serializers.BooleanField(help_text="Manages at least one consultant.")


class AuthResponse(serializers.Serializer[Any]):
    access_token = serializers.CharField(help_text="JWT, RS256; sent as a bearer token.")
    refresh_token = serializers.CharField(help_text="JWT, RS256; good for a new pair.")
    token_type = serializers.ChoiceField(["Bearer"])
    user = UserResponse()


class Message(serializers.Serializer[Any]):
    message = serializers.CharField()


class Key(serializers.Serializer[Any]):
    kty = serializers.ChoiceField(["RSA"])
    kid = serializers.CharField()
    use = serializers.ChoiceField(["sig"])
    alg = serializers.ChoiceField(["RS256"])
    n = serializers.CharField()
    e = serializers.CharField()


class KeySet(serializers.Serializer[Any]):
    keys = Key(many=True)


def page_of(item: type[serializers.Serializer[Any]], name: str) -> Any:
    """A page of a list, as config.pagination answers it."""
    return inline_serializer(
        name,
        {
            "items": item(many=True),
            "page": serializers.IntegerField(min_value=1),
            "per_page": serializers.IntegerField(min_value=1, max_value=100),
            "total": serializers.IntegerField(min_value=0),
        },
    )


def number(name: str, description: str) -> OpenApiParameter:
    """A whole number of 1 or more in the query."""
    schema = {"type": "integer", "minimum": 1}
    return OpenApiParameter(name, schema, OpenApiParameter.QUERY, description=description)


PAGING = [
    number("page", "1 by default; a page past the end has no items."),
    number("per_page", "20 by default; more than 100 counts as 100."),
]


def sets_cookie(description: str, *statuses: int) -> OpenApiParameter:
    """The Set-Cookie header of the answers with these statuses."""
    return OpenApiParameter(
        "Set-Cookie", str, OpenApiParameter.HEADER, description=description, response=[*statuses]
    )


COOKIE = sets_cookie("`service_refresh`: the refresh token; HttpOnly, `Path=/auth`.", 200)
CLEARED = sets_cookie("`service_refresh`, emptied.", 204)


def body(name: str, **value: Any) -> list[OpenApiExample]:
    return [OpenApiExample(name, value=value, request_only=True)]


ADA = {"first_name": "Ada", "last_name": "Lovelace", "password": "correct horse battery"}

extend_schema_view(
    post=extend_schema(
        summary="Ask for a sign-up link",
        description="The answer is the same whether or not the address is registered; if it is "
        "free, a link is mailed to it.",
        request=bodies.EmailSerializer,
        responses={200: Message},
        examples=body("A company's first user", email="ada@example.com"),
    )
)(views.SignupView)

extend_schema_view(
    post=extend_schema(
        summary="Complete a sign-up",
        description="Makes the company and its admin, and signs the admin in. The token is used "
        "up. `/auth/register` and `/auth/complete-signup` are two names of this call.",
        request=bodies.CompleteSignupSerializer,
        responses={200: AuthResponse, 400: InvalidLink, 409: EmailTaken},
        parameters=[COOKIE],
        examples=body("A company", token="AZOs…", account_name="Engines", **ADA),  # noqa: S106
    )
)(views.CompleteSignupView)

extend_schema_view(
    post=extend_schema(
        summary="Log in",
        request=bodies.LoginSerializer,
        responses={200: AuthResponse, 401: WrongCredentials},
        parameters=[COOKIE],
        examples=body("Ada", email="ada@example.com", password=ADA["password"]),
    )
)(views.LoginView)

extend_schema_view(
    post=extend_schema(
        summary="Get a fresh pair of tokens",
        description="The cookie comes first; `refresh_token` is read when it is absent. The cookie "
        "is renewed if the token came from it, and cleared by a 401 to it.",
        auth=[{"refreshCookie": []}, {}],
        request=bodies.RefreshSerializer,
        responses={200: AuthResponse, 401: InvalidRefreshToken},
        parameters=[
            sets_cookie("`service_refresh`, when the token came from it.", 200, 401),
        ],
        examples=body("Without a cookie", refresh_token="eyJhbGciOi…"),  # noqa: S106
    )
)(views.RefreshView)

extend_schema_view(
    get=extend_schema(summary="Who the caller is", responses={200: UserResponse}),
    patch=extend_schema(
        summary="Change the caller's own name or language",
        request=bodies.ProfileSerializer,
        responses={200: UserResponse},
        examples=body("Language", settings={"language": "sv"}),
    ),
)(views.MeView)

extend_schema_view(
    post=extend_schema(
        summary="Log out",
        description="Clears the refresh cookie. The access token stays valid until it expires.",
        request=None,
        responses={204: None},
        parameters=[CLEARED],
    )
)(views.LogoutView)

extend_schema_view(
    post=extend_schema(
        summary="Log out everywhere",
        description="No access or refresh token issued so far works any more.",
        request=None,
        responses={204: None},
        parameters=[CLEARED],
    )
)(views.LogoutEverywhereView)

extend_schema_view(
    get=extend_schema(
        summary="The company's users",
        description="By last and first name. `search` looks into names and addresses.",
        parameters=[*PAGING, bodies.UserFilterSerializer],
        responses={200: page_of(UserResponse, "UserPage")},
    )
)(views.UsersView)

extend_schema_view(
    get=extend_schema(summary="One of the company's users", responses={200: UserResponse}),
    patch=extend_schema(
        summary="Change a user's role or activity",
        description="An inactive user's tokens stop working. The last active admin stays one.",
        request=bodies.StandingSerializer,
        responses={200: UserResponse, 409: LastAdmin},
        examples=body("Promote", role="admin"),
    ),
)(views.UserView)

extend_schema_view(
    get=extend_schema(summary="The public keys that verify tokens", responses={200: KeySet})
)(views.KeysView)
