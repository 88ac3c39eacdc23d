"""The /password-changes calls as the OpenAPI document describes them."""

from drf_spectacular.utils import extend_schema, extend_schema_view

from accounts.exceptions import InvalidLink
from accounts.schema import ADA, COOKIE, AuthResponse, Message, body
from accounts.serializers import EmailSerializer
from passwords import views
from passwords.serializers import RedeemSerializer

extend_schema_view(
    post=extend_schema(
        summary="Ask for a password-change link",
        description="The answer is the same whether or not the address has a user; if it has one, "
        "a link is mailed to it. A newer link replaces the older one.",
        request=EmailSerializer,
        responses={200: Message},
        examples=body("Ada", email="ada@example.com"),
    )
)(views.PasswordChangesView)

extend_schema_view(
    post=extend_schema(
        summary="Set a new password by link",
        description="Uses the token up, ends every earlier session of the user, and signs in.",
        request=RedeemSerializer,
        responses={200: AuthResponse, 400: InvalidLink},
        parameters=[COOKIE],
        examples=body("Redeem", token="AZOs…", password=ADA["password"]),  # noqa: S106
    )
)(views.RedeemView)
