"""What the account page shows of its user besides the API's answers."""

from rest_framework.response import Response

from api.views import ProtectedView, SignedInRequest


class AccountView(ProtectedView):
    """GET /pages/account -> {must_use_provider}: whether the company requires the user to sign in
    at its provider, so that passwords and second factors here are of no use."""

    schema = None

    def get(self, request: SignedInRequest) -> Response:
        return Response({"must_use_provider": request.user.must_use_provider})
