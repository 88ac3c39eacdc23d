"""The public keys, for whoever verifies tokens."""

from drf_spectacular.utils import extend_schema
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
        responses={200: KeySet},
    )
    def get(self, request: Request) -> Response:
        headers = {"Cache-Control": f"public, max-age={JWKS_SECONDS}"}
        return Response(KeySet(key_ring().jwks()).data, headers=headers)
