"""The bases of the views that let somebody in: how a sign-in is answered, and how a mailed link
becomes one."""

from typing import Any, ClassVar

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from accounts import tokens
from accounts.generics import CredentialView, Data, ProtectedView, valid
from accounts.models import User
from audit import trail
from audit.models import Kind
from mail.links import EmailedLink
from metrics import series
from signin.backends import check_password_and_factor, clear_lockout, hash_password
from signin.cookies import set_refresh_cookie
from signin.devices import STRANGER, remember_device
from signin.errors import (
    FactorMustBeSetUp,
    FactorNeeded,
    WrongCredentials,
    WrongPasskey,
    WrongPassword,
)
from signin.factors.enrolment import enrolment_for
from signin.factors.proof import AMR, Method, Proof
from signin.factors.serializers import ProofSerializer
from signin.serializers import auth_response
from throttling.throttles import CredentialThrottle


class ProofView(ProtectedView):
    """A call of somebody signed in that asks for the password again, and for a factor of who has
    one; counted as every guess is."""

    throttle_classes = [CredentialThrottle]
    serializer_class: ClassVar[type[Serializer]] = ProofSerializer

    def prove(self) -> Data:
        """Check what the body shows of the caller as a log-in does, lockout included; the rest of
        the body. Raises WrongPassword, SecondFactorRequired, WrongCode or TooManyAttempts."""
        data = valid(self.serializer_class, self.request)
        email, password, proof = self.request.user.email, data.pop("password"), Proof.pop(data)
        try:
            check_password_and_factor(self.request, email, password, proof)
        except WrongCredentials:
            raise WrongPassword from None
        return data

    def handle_exception(self, exc: Exception) -> Response:
        """What a log-in answers with 401 is a 403 beside a bearer token: a 401 there would have the
        client refresh, and send the guess again."""
        if isinstance(exc, (FactorNeeded, WrongPasskey)):
            exc.status_code = 403
        return super().handle_exception(exc)


class SignInView(CredentialView):
    """A call that answers AuthResponse to whoever has shown who they are."""

    def signed_in(self, user: User, method: Method) -> Response:
        """AuthResponse for a user who has just shown who they are, with the cookie."""
        self.request.user = user  # for the log
        series.sign_ins.labels(method.value).inc()
        access, refresh = tokens.issue(user, amr=AMR[method])
        encoded = str(refresh)
        response = Response(auth_response(user, str(access), encoded))
        set_refresh_cookie(response, refresh, encoded)
        remember_device(self.request, response, user)
        return response


class LinkSignInView(SignInView):
    """A call that takes a mailed link's token and a new password, and signs in.

    Subclasses say what link, what else is sent, what `redeem` does with it, and what is recorded.
    """

    link_class: ClassVar[type[EmailedLink]]
    serializer_class: ClassVar[type[Serializer]]
    kind: ClassVar[Kind]

    def sign_in_by_link(self, request: Request) -> Response:
        """AuthResponse. Raises InvalidLink, TooManyAttempts, or what `check_factor` and `redeem`
        raise; whatever is raised, the link is not used up. But FactorMustBeSetUp is raised, too,
        when all is done: to a new user of a company that requires a second factor."""
        data = valid(self.serializer_class, request)
        link = self.link_class.objects.find(data.pop("token"))
        device = self.device(request, link)
        proof = Proof.pop(data)
        data["password"] = hash_password(request, link.email, data["password"], device)
        method = self.check_factor(link, proof, device)
        with transaction.atomic():
            user = self.redeem(link, data)
            clear_lockout(link.email, device)
            self.record(link, user)
            to_be_set_up = user.factor_required and not user.has_second_factor
        if to_be_set_up:
            raise FactorMustBeSetUp(enrolment_for(user))
        return self.signed_in(user, method)

    def check_factor(self, link: Any, proof: Proof, device: str) -> Method:
        """What the link's user shows beside it; nothing, where there is no user yet."""
        return Method.PASSWORD

    def device(self, request: Request, link: Any) -> str:
        """The known device that asks; before there is a user, every browser is a stranger's."""
        return STRANGER

    def redeem(self, link: Any, data: Data) -> User:
        """Use the link up, in the caller's transaction, with what was sent; the password is a
        hash by now. The user who comes of it."""
        raise NotImplementedError

    def record(self, link: Any, user: User) -> None:
        trail.record(self.kind, actor=user)
