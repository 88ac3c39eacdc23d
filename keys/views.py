"""The public keys, for services that verify tokens."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from keys.cache import signing_keys
from throttling.openapi import example
from throttling.views import CountedView

N, E = "0vx7agoebGcQSuu…", "AQAB"


class Key(serializers.Serializer):
    """A public key (RFC 7517)."""

    kty = serializers.ChoiceField(["RSA"])
    kid = serializers.CharField()
    use = serializers.ChoiceField(["sig"])
    alg = serializers.ChoiceField(["RS256"])
    n = serializers.CharField()
    e = serializers.CharField()


@example({"keys": [{"kty": "RSA", "kid": "k1", "use": "sig", "alg": "RS256", "n": N, "e": E}]})
class KeySet(serializers.Serializer):
    keys = Key(many=True)


class KeysView(CountedView):
    """GET /.well-known/jwks.json: the public keys (RFC 7517)."""

    @extend_schema(
        operation_id="getKeys",
        summary="The public keys that verify tokens",
        responses={200: KeySet},
    )
    def get(self, request: Request) -> Response:
        keys = [key.public_jwk for key in signing_keys.current().values()]
        return Response({"keys": keys}, headers={"Cache-Control": "public, max-age=60"})
