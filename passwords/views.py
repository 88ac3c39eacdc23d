"""The /password-changes calls."""

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils.translation import get_language_from_request
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.backends import clear_lockout, refuse_locked
from accounts.generics import CredentialView, valid
from accounts.serializers import EmailSerializer
from audit import trail
from audit.models import Kind
from passwords.models import PasswordChange
from passwords.serializers import RedeemSerializer


class PasswordChangesView(CredentialView):
    """POST /password-changes: record that a link is wanted. Whether the address has a user is found
    out by the mail worker, so that nothing here depends on it."""

    def post(self, request: Request) -> Response:
        email = valid(EmailSerializer, request)["email"]
        language = get_language_from_request(request)
        PasswordChange.objects.request(email, language)
        return Response({"message": "If the address has a user, a link is on its way."})


class RedeemView(CredentialView):
    """POST /password-changes/redeem: set the new password, end every session, sign in."""

    def post(self, request: Request) -> Response:
        data = valid(RedeemSerializer, request)
        link = PasswordChange.objects.find(data["token"])
        refuse_locked(link.email)
        password = make_password(data["password"])  # before the transaction: it takes a while
        with transaction.atomic():
            user = link.redeem(password)
            clear_lockout(link.email)
            trail.record(Kind.PASSWORD_CHANGED, actor=user)
        return self.signed_in(user)
