"""The /auth and /users calls."""

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils.translation import get_language_from_request
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework_simplejwt.exceptions import TokenError

from accounts import keys, tokens
from accounts.backends import check_credentials, clear_lockout, refuse_locked
from accounts.cookies import NAME, clear_refresh_cookie, set_refresh_cookie
from accounts.exceptions import InvalidRefreshToken
from accounts.generics import (
    AdminView,
    CredentialView,
    ProtectedView,
    SignedInRequest,
    valid,
    valid_query,
)
from accounts.mail.outbox import OutgoingMail
from accounts.models import Account, Role, SignupLink, User
from accounts.serializers import (
    REFUSED_CHARACTERS,
    CompleteSignupSerializer,
    EmailSerializer,
    LoginSerializer,
    ProfileSerializer,
    RefreshSerializer,
    StandingSerializer,
    UserFilterSerializer,
    auth_response,
    user_response,
)
from audit import trail
from audit.models import Kind
from throttling.views import CountedView


class SignupView(CredentialView):
    """POST /auth/signup: record that a link is wanted. Whether the address is free is found out by
    the mail worker, so that nothing here depends on it."""

    def post(self, request: Request) -> Response:
        email = valid(EmailSerializer, request)["email"]
        language = get_language_from_request(request)
        OutgoingMail.objects.request(SignupLink, email, language)
        return Response({"message": "If the address is available, a sign-up link is on its way."})


class CompleteSignupView(CredentialView):
    """POST /auth/complete-signup (and /auth/register): make the company and its admin."""

    def post(self, request: Request) -> Response:
        data = valid(CompleteSignupSerializer, request)
        link = SignupLink.objects.find(data["token"])
        refuse_locked(link.email)
        password = make_password(data["password"])  # before the transaction: it takes a while
        with transaction.atomic():
            link.use()
            user = self.create(link, data, password)
            clear_lockout(link.email)
            trail.record(Kind.SIGNUP_COMPLETED, actor=user)
        return self.signed_in(user)

    def create(self, link: SignupLink, data: dict[str, Any], password: str) -> User:
        user: User = User.objects.register(
            account=Account.objects.create(name=data["account_name"]),
            email=link.email,
            first_name=data["first_name"],
            last_name=data["last_name"],
            language=link.language,
            password=password,
            role=Role.ADMIN,
        )
        return user


class LoginView(CredentialView):
    """POST /auth/login: e-mail address and password for a pair of tokens."""

    def post(self, request: Request) -> Response:
        return self.signed_in(check_credentials(**valid(LoginSerializer, request)))


class RefreshView(CredentialView):
    """POST /auth/refresh: a fresh pair for a refresh token, from the cookie or else the body.

    Stateless: the same token may be used any number of times while it lives, since the tabs of a
    browser do so at the same moment.
    """

    def post(self, request: Request) -> Response:
        cookie = request.COOKIES.get(NAME)
        encoded = cookie or self.token_in_body(request)
        try:
            old = tokens.RefreshToken(encoded)
        except TokenError:
            tokens.refuse_missing_key(encoded)
            raise InvalidRefreshToken from None
        user = User.objects.for_refresh_token(old)
        if user is None:
            raise InvalidRefreshToken
        refuse_locked(user.email, user.locked)
        access, refresh = tokens.issue(user, old["auth_time"])
        new = str(refresh)
        response = Response(auth_response(user, str(access), new))
        if cookie:
            set_refresh_cookie(response, refresh, new)
        return response

    def token_in_body(self, request: Request) -> str:
        """The body's token, or "". A serializer is set up only for what it will refuse: that takes
        longer than all the rest of reading."""
        token = request.data.get("refresh_token", "")
        if isinstance(token, str) and not REFUSED_CHARACTERS.search(token):
            return token
        return str(valid(RefreshSerializer, request)["refresh_token"])

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        if response.status_code == 401 and NAME in self.request.COOKIES:
            clear_refresh_cookie(self.request, response)
        return response


class MeView(ProtectedView):
    """GET and PATCH /auth/me: who the caller is."""

    def get(self, request: SignedInRequest) -> Response:
        return Response(user_response(request.user))

    def patch(self, request: SignedInRequest) -> Response:
        data = valid(ProfileSerializer, request)
        changes = data.pop("settings", {}) | data
        if changes:
            with transaction.atomic():
                User.objects.filter(pk=request.user.pk).update(**changes)
                trail.record(Kind.PROFILE_CHANGED, actor=request.user, fields=sorted(changes))
            vars(request.user).update(changes)
        return Response(user_response(request.user))


class LogoutView(ProtectedView):
    """POST /auth/logout: make the browser forget the refresh token."""

    def post(self, request: SignedInRequest) -> Response:
        response = Response(status=204)
        clear_refresh_cookie(request, response)
        return response


class LogoutEverywhereView(LogoutView):
    """POST /auth/logout-everywhere: no token of the user issued so far works any more."""

    def post(self, request: SignedInRequest) -> Response:
        request.user.sign_out(request.user)
        return super().post(request)


class UsersView(AdminView):
    """GET /users: the company's users, by last and first name."""

    def get(self, request: SignedInRequest) -> Response:
        wanted = valid_query(UserFilterSerializer, request)
        users = User.objects.filter(account=request.user.account_id)
        users = users.search(wanted.get("search", ""))
        if "role" in wanted:
            users = users.filter(role=wanted["role"])
        return self.page(users, user_response, User.objects.with_profile())


class UserView(AdminView):
    """GET and PATCH /users/{id}: one of the company's users."""

    def get(self, request: SignedInRequest, user_id: UUID) -> Response:
        return Response(user_response(self.colleague(request, user_id)))

    def patch(self, request: SignedInRequest, user_id: UUID) -> Response:
        changes = valid(StandingSerializer, request)
        user = self.colleague(request, user_id)
        with transaction.atomic():
            user.change_standing(**changes)
            self.record(request.user, user, changes)
        return Response(user_response(user))

    def record(self, actor: User, user: User, changes: dict[str, Any]) -> None:
        kinds = {"role": Kind.ROLE_CHANGED, "is_active": Kind.DEACTIVATED}
        if changes.get("is_active"):
            kinds["is_active"] = Kind.ACTIVATED
        for name, value in changes.items():
            trail.record(kinds[name], actor=actor, subject=user.email, **{name: value})

    def colleague(self, request: SignedInRequest, user_id: UUID) -> User:
        users = User.objects.with_profile().filter(account=request.user.account_id)
        return cast(User, get_object_or_404(users, pk=user_id))


class KeysView(CountedView):
    """GET /.well-known/jwks.json: the public keys (RFC 7517)."""

    def get(self, request: Request) -> Response:
        return Response(
            keys.load().jwks(), headers={"Cache-Control": f"public, max-age={keys.JWKS_SECONDS}"}
        )
