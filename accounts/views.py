"""The /auth and /users calls."""

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils.translation import get_language_from_request
from drf_spectacular.utils import extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework_simplejwt.exceptions import TokenError

from accounts import keys, tokens
from accounts.backends import check_credentials, clear_lockout, refuse_locked
from accounts.cookies import NAME, clear_refresh_cookie, set_refresh_cookie
from accounts.devices import Devices, remember_device
from accounts.exceptions import (
    EmailTaken,
    InvalidLink,
    InvalidRefreshToken,
    LastAdmin,
    WrongCredentials,
)
from accounts.generics import (
    AdminView,
    CredentialView,
    ProtectedView,
    SignedInRequest,
    valid,
    valid_query,
)
from accounts.mail.outbox import OutgoingMail
from accounts.models import Account, Role, SignupLink, UnlockLink, User, UserQuerySet
from accounts.openapi import CLEARED, COOKIE, Raises, sets_cookie
from accounts.serializers import (
    REFUSED_CHARACTERS,
    AuthResponse,
    CompanyUser,
    CompleteSignupSerializer,
    EmailSerializer,
    KeySet,
    LoginSerializer,
    Message,
    ProfileSerializer,
    RefreshSerializer,
    StandingSerializer,
    UnlockSerializer,
    UserFilterSerializer,
    UserResponse,
    auth_response,
    user_response,
)
from audit import trail
from audit.models import Kind
from throttling.views import CountedView


class SignupView(CredentialView):
    """POST /auth/signup: record that a link is wanted. Whether the address is free is found out by
    the mail worker, so that nothing here depends on it."""

    @extend_schema(
        operation_id="signUp",
        summary="Ask for a sign-up link",
        description="The answer is the same whether or not the address is registered; if it is "
        "free, a link is mailed to it.",
        request=EmailSerializer,
        responses={200: Message},
    )
    def post(self, request: Request) -> Response:
        email = valid(EmailSerializer, request)["email"]
        language = get_language_from_request(request)
        OutgoingMail.objects.request(SignupLink, email, language)
        said = "If the address is available, a sign-up link is on its way."
        return Response(Message({"message": said}).data)


class CompleteSignupView(CredentialView):
    """POST /auth/complete-signup (and /auth/register): make the company and its admin."""

    @extend_schema(
        summary="Complete a sign-up",
        description="Makes the company and its admin, and signs the admin in. The token is used "
        "up. `/auth/register` and `/auth/complete-signup` are two names of this call.",
        request=CompleteSignupSerializer,
        responses={200: AuthResponse, 400: Raises(InvalidLink), 409: Raises(EmailTaken)},
        parameters=[COOKIE],
    )
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

    @extend_schema(
        operation_id="logIn",
        summary="Log in",
        request=LoginSerializer,
        responses={200: AuthResponse, 401: Raises(WrongCredentials)},
        parameters=[COOKIE],
    )
    def post(self, request: Request) -> Response:
        typed = valid(LoginSerializer, request)
        return self.signed_in(check_credentials(**typed, devices=Devices(request)))


class RefreshView(CredentialView):
    """POST /auth/refresh: a fresh pair for a refresh token, from the cookie or else the body.

    Stateless: the same token may be used any number of times while it lives, since the tabs of a
    browser do so at the same moment.
    """

    @extend_schema(
        operation_id="refresh",
        summary="Get a fresh pair of tokens",
        description="The cookie comes first; `refresh_token` is read when it is absent. The cookie "
        "is renewed if the token came from it, and cleared by a 401 to it.",
        auth=[{"refreshCookie": []}, {}],  # type: ignore[list-item]
        request=RefreshSerializer,
        responses={200: AuthResponse, 401: Raises(InvalidRefreshToken)},
        parameters=[
            sets_cookie("`service_refresh`, when the token came from it.", 200, 401),
        ],
    )
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
        refuse_locked(user.email, user.locked, Devices(request).device_of(user))
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


class UnlockView(CredentialView):
    """POST /lockouts/redeem: end the strangers' lock of an address by the link that was mailed to
    it, and make this browser a known device. Signs nobody in."""

    @extend_schema(
        operation_id="redeemUnlock",
        summary="Unlock an address by link",
        description="Uses the token up, ends the lock that strangers brought about, and makes this "
        "browser a known device. Signs nobody in. Such links are mailed with LOCKOUT_RELIEF alone.",
        request=UnlockSerializer,
        responses={204: None, 400: Raises(InvalidLink)},
        parameters=[sets_cookie("`service_device`: this browser is known from now on.", 204)],
    )
    def post(self, request: Request) -> Response:
        link: UnlockLink = UnlockLink.objects.find(valid(UnlockSerializer, request)["token"])
        with transaction.atomic():
            user = link.redeem()
        response = Response(status=204)
        remember_device(request, response, user)
        return response


class MeView(ProtectedView):
    """GET and PATCH /auth/me: who the caller is."""

    @extend_schema(operation_id="getMe", summary="Who the caller is", responses={200: UserResponse})
    def get(self, request: SignedInRequest) -> Response:
        return Response(user_response(request.user))

    @extend_schema(
        operation_id="updateMe",
        summary="Change the caller's own name or language",
        request=ProfileSerializer,
        responses={200: UserResponse},
    )
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

    @extend_schema(
        operation_id="logOut",
        summary="Log out",
        description="Clears the refresh cookie. The access token stays valid until it expires.",
        request=None,
        responses={204: None},
        parameters=[CLEARED],
    )
    def post(self, request: SignedInRequest) -> Response:
        response = Response(status=204)
        clear_refresh_cookie(request, response)
        return response


class LogoutEverywhereView(LogoutView):
    """POST /auth/logout-everywhere: no token of the user issued so far works any more."""

    @extend_schema(
        operation_id="logOutEverywhere",
        summary="Log out everywhere",
        description="No access or refresh token issued so far works any more.",
        request=None,
        responses={204: None},
        parameters=[CLEARED],
    )
    def post(self, request: SignedInRequest) -> Response:
        request.user.sign_out(request.user)
        return super().post(request)


class UsersView(AdminView, ListAPIView):
    """GET /users: the company's users, by last and first name."""

    serializer_class = CompanyUser

    @extend_schema(
        operation_id="listUsers",
        summary="The company's users",
        description="By last and first name. `search` looks into names and addresses.",
        parameters=[UserFilterSerializer],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return self.list(request)

    def get_queryset(self) -> UserQuerySet:
        wanted = valid_query(UserFilterSerializer, self.request)
        users: UserQuerySet = User.objects.filter(account=self.request.user.account_id)
        return users.search(wanted.pop("search", "")).filter(**wanted)

    def paginate_queryset(self, queryset: Any) -> list[Any]:
        """The page's own users alone with their profiles: what a page joins would be joined to
        every row before it, too."""
        page = super().paginate_queryset(queryset)
        return list(User.objects.with_profile().filter(pk__in=page))


class UserView(AdminView):
    """GET and PATCH /users/{id}: one of the company's users."""

    @extend_schema(
        operation_id="getUser",
        summary="One of the company's users",
        responses={200: CompanyUser},
    )
    def get(self, request: SignedInRequest, user_id: UUID) -> Response:
        return Response(CompanyUser(self.colleague(request, user_id)).data)

    @extend_schema(
        operation_id="updateUser",
        summary="Change a user's role or activity",
        description="An inactive user's tokens stop working. The last active admin stays one.",
        request=StandingSerializer,
        responses={200: CompanyUser, 409: Raises(LastAdmin)},
    )
    def patch(self, request: SignedInRequest, user_id: UUID) -> Response:
        changes = valid(StandingSerializer, request)
        user = self.colleague(request, user_id)
        with transaction.atomic():
            user.change_standing(request.user, **changes)
            self.record(request.user, user, changes)
        return Response(CompanyUser(user).data)

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

    @extend_schema(
        operation_id="getKeys",
        summary="The public keys that verify tokens",
        responses={200: KeySet},
    )
    def get(self, request: Request) -> Response:
        headers = {"Cache-Control": f"public, max-age={keys.JWKS_SECONDS}"}
        return Response(KeySet(keys.load().jwks()).data, headers=headers)
