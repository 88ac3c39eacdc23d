"""The public keys, for whoever verifies tokens."""

import hashlib

from django.utils.http import parse_etags, quote_etag
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from keys.cache import signing_keys
from throttling.openapi import example
from throttling.views import CountedView

JWKS_SECONDS = 60  # how long a client may keep the JWK Set
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
        responses={200: KeySet, 304: OpenApiResponse(description="As `If-None-Match` has them.")},
    )
    def get(self, request: Request) -> Response:
        keys = signing_keys.current()
        etag = quote_etag(hashlib.sha256("".join(keys).encode()).hexdigest()[:32])
        headers = {"Cache-Control": f"public, max-age={JWKS_SECONDS}", "ETag": etag}
        known = parse_etags(request.headers.get("If-None-Match", ""))
        if etag in {tag.removeprefix("W/") for tag in known}:  # a proxy that compresses adds it
            return Response(status=304, headers=headers)
        return Response(KeySet({"keys": [key.jwk for key in keys.values()]}).data, headers=headers)
