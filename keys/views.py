"""GET /.well-known/jwks.json: the public keys, for services that verify tokens."""

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from api.views import CountedView
from keys.cache import signing_keys

EXAMPLE_JWK = {
    "kty": "RSA",
    "kid": "k1",
    "use": "sig",
    "alg": "RS256",
    "n": "0vx7agoebGcQ…",
    "e": "AQAB",
}


class KeysView(CountedView):
    """A JWK Set (RFC 7517). Fetch it again when a token names an unknown `kid`."""

    @extend_schema(
        operation_id="getKeys",
        summary="Get the public keys that verify tokens",
        responses={200: dict},
        examples=[OpenApiExample("example", {"keys": [EXAMPLE_JWK]}, response_only=True)],
    )
    def get(self, request: Request) -> Response:
        keys = [key.public_jwk for key in signing_keys.current().values() if key.public_jwk]
        return Response({"keys": keys}, headers={"Cache-Control": "public, max-age=60"})
