"""GET /pages/account: facts about the user that the account page needs beside the API's answers."""

from rest_framework.response import Response

from api.views import ProtectedView, SignedInRequest
from sso.models import Identity


class AccountPageView(ProtectedView):
    """GET /pages/account -> {must_use_provider, has_password}.

    `must_use_provider` is whether the user signs in only at the company's provider, as the company
    requires it, or the user is linked to its active provider and has no password. Then passwords,
    second factors and known devices of this service have no use, but that a password still
    re-authenticates: it is asked for if the user has one."""

    schema = None

    def get(self, request: SignedInRequest) -> Response:
        user, is_required = request.user, request.user.must_use_provider
        has_password = user.has_usable_password()
        if not is_required and not has_password:
            is_required = Identity.objects.filter(user=user, provider__active=True).exists()
        return Response({"must_use_provider": is_required, "has_password": has_password})
