"""The calls about second factors: signing in by passkey, managing one's own factors and, for
admins, resetting those of others."""

from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import tokens
from accounts.errors import LastBreakGlassAdmin, OwnSecondFactorMissing
from accounts.models import User
from accounts.views import get_colleague_or_404
from api.openapi import Raises
from api.views import CountedView, CredentialView, IsAdmin, ProtectedView, SignedInRequest
from signin.credentials import Attempt, record_sign_in
from signin.devices import device_of, remember_device
from signin.errors import (
    CannotResetOwnFactors,
    FactorRefused,
    FactorStillRequired,
    NoSuchFactor,
    TooManyFactors,
    WrongCode,
    WrongCodeReason,
    WrongPasskey,
)
from signin.factors import serializers, totp
from signin.factors.enrolment import ENROLMENT, EnrolmentAuthentication
from signin.factors.methods import AMR, FactorInput, Method
from signin.factors.models import Factors
from signin.factors.passkeys import creation_options, find_by_passkey, new_passkey, request_options
from signin.reauthentication import REAUTHENTICATION_REFUSED, reauthenticate
from signin.serializers import SETS_REFRESH_COOKIE, AddedResponse, AuthResponse
from signin.sessions import session_response, token_response
from throttling.throttles import CredentialThrottle


def describe_reauthentication(responses: dict[int, Any]) -> dict[str, Any]:
    """For `extend_schema`: the request and the answers of a call that needs re-authentication."""
    responses |= {403: REAUTHENTICATION_REFUSED}
    return {"request": serializers.ProofSerializer, "responses": responses}


class PasskeysAllowed(BasePermission):
    """Raises Http404 if PASSKEYS_RP_ID is empty: the service's host allows no passkeys."""

    def has_permission(self, request: Request, view: object) -> bool:
        if not settings.PASSKEYS_RP_ID:
            raise Http404
        return True


class PasskeyOptionsView(CountedView):
    """Counted as a public call, since nothing can be guessed and each sign-in page makes one."""

    permission_classes = [PasskeysAllowed]

    @extend_schema(
        operation_id="passkeyOptions",
        summary="Get a challenge for a passkey",
        description="A PublicKeyCredentialRequestOptionsJSON, the same for every caller except the "
        "challenge, which works once and for five minutes.",
        request=None,
        responses={200: serializers.OptionsResponse, 404: Raises(NoSuchFactor)},
    )
    def post(self, request: Request) -> Response:
        return Response(request_options())


class PasskeyLoginView(CredentialView):
    """A signature can't be guessed, so lockouts don't apply, and an attacker can't lock out the
    owner of a passkey."""

    permission_classes = [PasskeysAllowed]

    @extend_schema(
        operation_id="logInByPasskey",
        summary="Sign in by passkey",
        description="Needs no address and no password. Lockouts don't apply.",
        request=serializers.PasskeyLoginSerializer,
        responses={200: AuthResponse, 401: Raises(WrongPasskey), 404: Raises(NoSuchFactor)},
        parameters=[SETS_REFRESH_COOKIE],
    )
    def post(self, request: Request) -> Response:
        body = self.validated_body(serializers.PasskeyLoginSerializer)
        user = find_by_passkey(body["credential"])
        record_sign_in(request, user, Method.PASSKEY_ALONE)
        return session_response(request, user, Method.PASSKEY_ALONE)


class AddFactorView(ProtectedView):
    """Base of the four calls that add a factor. They also accept an enrolment token."""

    throttle_classes = [CredentialThrottle]
    authentication_classes = [EnrolmentAuthentication]

    def reauthenticate(self) -> None:
        """Re-authenticate the user, unless the request has an enrolment token, whose user has
        entered a password or used a link in the last ten minutes."""
        if self.request.auth != ENROLMENT:
            reauthenticate(self.request)

    def add_factor(self, add: Callable[[Factors], Any], method: Method) -> Response:
        """AddedResponse with the app or passkey that `add` adds to the user's row and returns. For
        a first factor it also has recovery codes and a `new_session`, since the first factor ends
        all sessions; else None in their place.

        With an enrolment token this completes a sign-in: it is recorded, and the failed attempts
        are forgotten. Then it raises TooManyAttempts while the address is locked for the device.
        Raises NotAuthenticated if the user was erased, deactivated or signed out meanwhile,
        OperationalError (503) if there is no signing key, and the errors of `add`.
        """
        user, is_enrolment = self.request.user, self.request.auth == ENROLMENT
        attempt = Attempt(user.email, device_of(self.request, user))
        if is_enrolment:  # outside the transaction, which would undo the record of a refusal
            attempt.refuse_if_locked()
        with transaction.atomic():
            factors, codes = Factors.objects.lock_or_create(user)
            factor = add(factors)
            if is_enrolment:
                attempt.record_success()
                record_sign_in(self.request, user, Method.PASSWORD)
            # Before the commit: without a signing key nobody would see the codes.
            response = self.new_session(user, method) if codes else Response()
        body = {"factor": serializers.FactorResponse(factor).data, "recovery_codes": codes}
        response.data = body | {"session": response.data}
        return response

    def new_session(self, user: User, method: Method) -> Response:
        """AuthResponse with the cookies, for a session in place of the request's, which the first
        factor has ended: one that began at the company's provider goes on as such, any other begins
        now by this method. The user's row is locked. An enrolment token's completes a sign-in.
        Raises OperationalError (503) if there is no signing key."""
        if self.request.auth == ENROLMENT:
            return session_response(self.request, user, method)
        claims = cast(tokens.AccessToken, self.request.auth).payload
        is_sso = tokens.PROVIDER_METHOD in claims["amr"]
        amr, auth_time = (claims["amr"], claims["auth_time"]) if is_sso else (AMR[method], None)
        response = token_response(user, amr, auth_time)
        if settings.DEVICE_LOCKOUT:
            remember_device(self.request, response, user)
        return response


class AddAppView(AddFactorView):
    """The app has no effect until a code confirms it, within ten minutes."""

    @extend_schema(
        operation_id="addApp",
        summary="Start adding an authenticator app",
        **describe_reauthentication({201: serializers.TotpResponse, 409: Raises(TooManyFactors)}),
    )
    def post(self, request: SignedInRequest) -> Response:
        self.reauthenticate()
        if Factors.objects.filter(user=request.user, totp_id__isnull=False).exists():
            raise TooManyFactors
        return Response(totp.begin_setup(request.user), 201)


class ConfirmAppView(AddFactorView):
    @extend_schema(
        operation_id="confirmApp",
        summary="Confirm an authenticator app by its first code",
        description="Takes a current code. The first factor ends all sessions: the answer has a "
        "new one. With an enrolment token this completes a sign-in.",
        request=serializers.ConfirmSerializer,
        responses={
            200: AddedResponse,
            403: Raises(WrongCode),
            404: Raises(NoSuchFactor),
            409: Raises(TooManyFactors),
        },
        parameters=[SETS_REFRESH_COOKIE],
    )
    def post(self, request: SignedInRequest) -> Response:
        body = self.validated_body(serializers.ConfirmSerializer)
        secret = totp.pending_secret(request.user, body["id"])
        if secret is None:
            raise Http404
        step = totp.find_step(secret, FactorInput(body["code"]).plain_code)
        if step is None:  # no failed attempt, since the secret is the caller's own
            raise FactorRefused(WrongCode(cause=WrongCodeReason.WRONG_CODE))
        name = body.get("name", "")
        return self.add_factor(lambda row: row.add_totp(secret, step, name), Method.TOTP)


class NewPasskeyOptionsView(AddFactorView):
    permission_classes = [IsAuthenticated, PasskeysAllowed]

    @extend_schema(
        operation_id="newPasskeyOptions",
        summary="Start adding a passkey",
        description="A PublicKeyCredentialCreationOptionsJSON.",
        **describe_reauthentication({200: serializers.OptionsResponse, 404: Raises(NoSuchFactor)}),
    )
    def post(self, request: SignedInRequest) -> Response:
        self.reauthenticate()
        return Response(creation_options(request.user))


class AddPasskeyView(AddFactorView):
    permission_classes = [IsAuthenticated, PasskeysAllowed]

    @extend_schema(
        operation_id="addPasskey",
        summary="Add a passkey",
        description="Takes the new credential. The first factor ends all sessions: the answer has "
        "a new one. With an enrolment token this completes a sign-in.",
        request=serializers.NewPasskeySerializer,
        responses={
            201: AddedResponse,
            403: Raises(WrongPasskey),
            404: Raises(NoSuchFactor),
            409: Raises(TooManyFactors),
        },
        parameters=[SETS_REFRESH_COOKIE],
    )
    def post(self, request: SignedInRequest) -> Response:
        body = self.validated_body(serializers.NewPasskeySerializer)
        try:
            fields = new_passkey(request.user, body["credential"]) | {"name": body.get("name", "")}
            response = self.add_factor(lambda row: row.add_passkey(**fields), Method.PASSKEY)
        except WrongPasskey as error:
            raise FactorRefused(error) from None
        response.status_code = 201
        return response


class ListFactorsView(ProtectedView):
    """The caller's app and passkeys, and the number of recovery codes left."""

    @extend_schema(
        operation_id="listFactors",
        summary="List the caller's second factors",
        responses={200: serializers.FactorsResponse},
    )
    def get(self, request: SignedInRequest) -> Response:
        factors = Factors.objects.filter(user=request.user).first()
        body = {
            "items": factors.app_and_passkeys() if factors else [],
            "recovery_codes_left": factors.recovery_codes.count() if factors else 0,
            "required": request.user.company_requires_factor,
        }
        return Response(serializers.FactorsResponse(body).data)


class RenameFactorView(ProtectedView):
    """Renames an app or a passkey of the caller; 404 for any other."""

    @extend_schema(
        operation_id="renameFactor",
        summary="Rename a second factor",
        request=serializers.RenameSerializer,
        responses={200: serializers.FactorResponse},
    )
    def patch(self, request: SignedInRequest, factor_id: UUID) -> Response:
        name = self.validated_body(serializers.RenameSerializer)["name"]
        factor = Factors.objects.rename(request.user, factor_id, name)
        return Response(serializers.FactorResponse(factor).data)


class RemoveFactorView(ProtectedView):
    """Removing the last one also removes the recovery codes."""

    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="removeFactor",
        summary="Remove a second factor",
        **describe_reauthentication(
            {204: None, 409: Raises(FactorStillRequired, LastBreakGlassAdmin)}
        ),
    )
    def post(self, request: SignedInRequest, factor_id: UUID) -> Response:
        reauthenticate(request)
        Factors.objects.remove(request.user, factor_id)
        return Response(status=204)


class RenewRecoveryCodesView(ProtectedView):
    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="renewRecoveryCodes",
        summary="Create new recovery codes",
        description="They replace the old ones, and are shown only once.",
        **describe_reauthentication(
            {201: serializers.RecoveryCodesResponse, 409: Raises(OwnSecondFactorMissing)}
        ),
    )
    def post(self, request: SignedInRequest) -> Response:
        reauthenticate(request)
        codes = Factors.objects.renew_recovery_codes(request.user)
        return Response({"recovery_codes": codes}, 201)


class ResetFactorsView(ProtectedView):
    """Removes factors and recovery codes, ends the sessions, and notifies the user."""

    permission_classes = [IsAdmin]

    @extend_schema(
        operation_id="resetFactors",
        summary="Reset a user's second factors",
        responses={204: None, 409: Raises(CannotResetOwnFactors, LastBreakGlassAdmin)},
    )
    def delete(self, request: SignedInRequest, user_id: UUID) -> Response:
        Factors.objects.reset(get_colleague_or_404(request, user_id), actor=request.user)
        return Response(status=204)
