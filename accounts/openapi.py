"""What views say of their calls with, beside drf-spectacular's own words."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework.exceptions import APIException

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
    """An example of a request's body."""
    return [OpenApiExample(name, value=value, request_only=True)]
