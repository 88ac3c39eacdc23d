"""GET /pages/account: facts about the user that the account page needs beside the API's answers."""

from rest_framework.response import Response

from api.views import ProtectedView, SignedInRequest


class AccountPageView(ProtectedView):
    """GET /pages/account -> {must_use_provider}: whether the company requires the user to sign in
    at its provider. Passwords and second factors of this service then have no use."""

    schema = None

    def get(self, request: SignedInRequest) -> Response:
        return Response({"must_use_provider": request.user.must_use_provider})
