"""The base of views that need re-authentication."""

from typing import ClassVar

from rest_framework.response import Response
from rest_framework.serializers import Serializer

from accounts.generics import Data, ProtectedView, validated_body
from base.openapi import Raises
from signin.errors import (
    FACTOR_ERRORS,
    FactorNeeded,
    WrongCredentials,
    WrongPasskey,
    WrongPassword,
)
from signin.factors.serializers import ProofSerializer
from signin.login import check_credentials
from throttling.views import CredentialThrottle

PROOF_NEEDED = Raises(WrongPassword, *FACTOR_ERRORS)


class ProofView(ProtectedView):
    """A call that needs re-authentication: the password again, and the second factor if the user
    has one. Counted in the credential tier."""

    throttle_classes = [CredentialThrottle]
    serializer_class: ClassVar[type[Serializer]] = ProofSerializer

    def reauthenticate_caller(self) -> Data:
        """Check the caller's password and factor as for a sign-in, lockout included; the body.
        Raises WrongPassword, SecondFactorRequired, WrongCode or TooManyAttempts."""
        data = validated_body(self.serializer_class, self.request)
        shown = {name: data[name] for name in ("password", "code", "passkey") if name in data}
        try:
            check_credentials(self.request, self.request.user.email, **shown, signs_in=False)
        except WrongCredentials:
            raise WrongPassword from None
        return data

    def handle_exception(self, exc: Exception) -> Response:
        """Answer 403 instead of the 401 of a sign-in, after which the client would refresh its
        token and send the guess again."""
        if isinstance(exc, (FactorNeeded, WrongPasskey)):
            exc.status_code = 403
        return super().handle_exception(exc)
