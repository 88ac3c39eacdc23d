"""Base classes of views that take a password, other than sign-in: re-authentication and e-mailed
links."""

from typing import Any, ClassVar

from django.contrib.auth.hashers import make_password
from django.db import transaction
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from accounts.generics import CredentialView, Data, ProtectedView, validated_body
from accounts.models import User
from accounts.passwords import check_new_password
from audit.models import Kind
from base.openapi import Raises
from mail.links import EmailedLink
from signin.devices import device_of
from signin.errors import (
    FACTOR_ERRORS,
    FactorMustBeSetUp,
    FactorNeeded,
    SecondFactorRequired,
    WrongCredentials,
    WrongPasskey,
    WrongPassword,
)
from signin.factors.enrolment import enrolment_for
from signin.factors.proof import Method, Proof
from signin.factors.serializers import ProofSerializer
from signin.hashers import hash_slot
from signin.login import check_credentials, check_factor, session_response
from throttling.models import Lockout
from throttling.views import CredentialThrottle

PROOF_NEEDED = Raises(WrongPassword, *FACTOR_ERRORS)


class ProofView(ProtectedView):
    """A call that needs re-authentication: the password again, and the second factor if the user
    has one. Counted in the credential tier."""

    throttle_classes = [CredentialThrottle]
    serializer_class: ClassVar[type[Serializer]] = ProofSerializer

    def reauthenticate_caller(self, serializer: type[Serializer] | None = None) -> Data:
        """Check the caller's password and factor as for a sign-in, lockout included; the body, by
        another serializer where a view has several. Raises WrongPassword, SecondFactorRequired,
        WrongCode or TooManyAttempts."""
        data = validated_body(serializer or self.serializer_class, self.request)
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


class LinkSignInView(CredentialView):
    """A call that takes an e-mailed link's token and a new password, and signs in.

    Subclasses name the link, the body's serializer and the event, and define `person` and `redeem`.
    """

    link_class: ClassVar[type[EmailedLink]]
    serializer_class: ClassVar[type[Serializer]]
    kind: ClassVar[Kind]

    def sign_in_by_link(self, request: Request) -> Response:
        """AuthResponse. Raises InvalidLink, TooManyAttempts, or as `check_factor` and `redeem`; the
        link is then not used up. For a new user of a company that requires a second factor it
        raises FactorMustBeSetUp after everything is done."""
        user, method = self.use_link(request, validated_body(self.serializer_class, request))
        return session_response(request, user, method)

    @hash_slot()
    def use_link(self, request: Request, data: Data) -> tuple[User, Method]:
        link = self.link_class.objects.find_by_token(data.pop("token"))
        proof = Proof(data.pop("code", ""), data.pop("passkey", None))
        person = self.person(link, data)
        device = device_of(request, person)
        Lockout.objects.require_unlocked(link.email, device)
        try:
            check_new_password(data["password"], person)
        except ValidationError as error:
            raise ValidationError({"password": error.detail}) from None
        data["password"] = make_password(data["password"])
        # Access to a mailbox is not enough for users with a second factor. Users who must set one
        # up do so after the link is used, so that the set-up cannot sign anyone in unnoticed.
        has_factor = person.has_second_factor
        method = check_factor(person, proof, device) if has_factor else Method.PASSWORD
        with transaction.atomic():
            user = self.redeem(link, data)
            if user.has_second_factor and not has_factor:  # set up during the hash
                raise SecondFactorRequired(methods=user.factors.method_names())
            Lockout.objects.clear(link.email, device)
            self.record(link, user)
            to_be_set_up = user.factor_required and not user.has_second_factor
        if to_be_set_up:
            raise FactorMustBeSetUp(enrolment=enrolment_for(user))
        return user, method

    def person(self, link: Any, data: Data) -> User:
        """The link's user or future user, whose data must not be used as the password."""
        raise NotImplementedError

    def redeem(self, link: Any, data: Data) -> User:
        """Use the link up, in the caller's transaction; the body's password is a hash. Returns the
        user that is created or changed."""
        raise NotImplementedError

    def record(self, link: Any, user: User) -> None:
        user.record_sign_in(self.kind)
