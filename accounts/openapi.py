"""What views say of their calls with, beside drf-spectacular's own words."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema_serializer,
)
from rest_framework.exceptions import APIException

LINK = "AZOsR1Wb…"
ADA = {"first_name": "Ada", "last_name": "Lovelace", "password": "correct horse battery"}

ADA_RESPONSE = {
    "id": "0b9a3a52-6d0e-4a7e-9d5b-5f4f0f3a7c11",
    "account_id": "6f1d2c1e-3f0f-4f61-8e3a-2f7c1f0a9b42",
    "email": "ada@example.com",
    "first_name": "Ada",
    "last_name": "Lovelace",
    "role": "admin",
    "created_at": "2026-03-02T08:30:00.120000Z",
    "consultant_id": None,
    "settings": {"language": "en"},
    "is_manager": True,
}

KEY = {
    "kty": "RSA",
    "kid": "k1",
    "use": "sig",
    "alg": "RS256",
    "n": "0vx7agoebGcQSuu…",
    "e": "AQAB",
}
TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0.eyJzdWIiOiIwYjlhM2E1MiJ9.c2lnbmF0dXJl"  # noqa: S105
SIGN_IN_RESPONSE = {
    "access_token": TOKEN,
    "refresh_token": TOKEN,
    "token_type": "Bearer",
    "user": ADA_RESPONSE,
}


def example(value: Any) -> Any:
    """A class decorator: what a serializer takes, or makes, looks like."""
    return extend_schema_serializer(examples=[OpenApiExample("example", value)])


class Raises(OpenApiResponse):
    """Among the `responses` of `extend_schema`: the error answer that `config.errors` makes of
    these exceptions, which have one status. `more` names the strings that it has beside `error`."""

    def __init__(self, *kinds: type[APIException]) -> None:
        super().__init__()
        self.status = kinds[0].status_code
        self.words = [str(kind.default_detail) for kind in kinds]
        self.more = {name for kind in kinds for name in getattr(kind, "more", ())}


def sets_cookie(description: str, *statuses: int) -> OpenApiParameter:
    """The Set-Cookie header of the answers with these statuses."""
    return OpenApiParameter(
        "Set-Cookie", str, OpenApiParameter.HEADER, description=description, response=[*statuses]
    )


COOKIE = sets_cookie("`service_refresh`: the refresh token; HttpOnly, `Path=/auth`.", 200)
CLEARED = sets_cookie("`service_refresh`, emptied.", 204)


def body(name: str, **value: Any) -> list[OpenApiExample]:
    """An example of a request's body, where the answer is made by a kindred serializer."""
    return [OpenApiExample(name, value=value, request_only=True)]
