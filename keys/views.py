"""The public keys, for whoever verifies tokens."""

import hashlib

from django.utils.http import parse_etags, quote_etag
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from keys.folder import JWKS_SECONDS, key_ring
from keys.serializers import KeySet
from throttling.views import CountedView


class KeysView(CountedView):
    """GET /.well-known/jwks.json: the public keys (RFC 7517)."""

    @extend_schema(
        operation_id="getKeys",
        summary="The public keys that verify tokens",
        responses={200: KeySet, 304: OpenApiResponse(description="As `If-None-Match` has them.")},
    )
    def get(self, request: Request) -> Response:
        ring = key_ring()
        body = KeySet(ring.jwks()).data
        etag = quote_etag(hashlib.sha256("".join(ring.keys).encode()).hexdigest()[:32])
        headers = {"Cache-Control": f"public, max-age={JWKS_SECONDS}", "ETag": etag}
        known = parse_etags(request.headers.get("If-None-Match", ""))
        if etag in {tag.removeprefix("W/") for tag in known}:  # a proxy that compresses adds it
            return Response(status=304, headers=headers)
        return Response(body, headers=headers)
