"""Second factors of users. A single statement uses a code up, so that of parallel requests one
succeeds."""

import base64
import hashlib
import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Self
from uuid import UUID

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, models, transaction
from django.db.models import F, Q
from django.utils import timezone
from rest_framework.exceptions import NotAuthenticated

import audit
from accounts import providers
from accounts.errors import OwnSecondFactorMissing
from accounts.models import Account, SecondFactor, User, next_token_version
from audit.actors import Actor
from audit.models import Kind
from base.sealed import decrypt_for_row, encrypt_for_row
from mail.links import EmailedLink
from signin.errors import (
    CannotResetOwnFactors,
    FactorStillRequired,
    NoSuchFactor,
    TooManyFactors,
    WrongCodeReason,
    WrongPasskey,
)
from signin.factors import totp

MAX_PASSKEYS = 10
RECOVERY_CODE_COUNT = 10
FEW_RECOVERY_CODES = 3  # with so many left or fewer, the mail about a used code warns
WARN_AT_WRONG_CODES = 3  # consecutive wrong codes, after which the user is mailed
MAX_WRONG_CODES = 100  # consecutive ones, after which an app's codes are refused (NIST SP 800-63B)


@dataclass
class AuthenticatorApp:
    """A user's authenticator app, with those attributes of a Passkey that the API shows."""

    id: UUID | None
    name: str
    created_at: datetime | None
    last_used_at: datetime | None
    kind = "totp"


class FactorsQuerySet(models.QuerySet["Factors"]):
    """How users change their factors."""

    def lock_user(self, user: User) -> Self:
        """Lock the row of the *user* for the caller's transaction, so that no other request adds,
        renames or removes factors meanwhile; codes and passkeys can be used. Returns a query for
        the user's row of factors, empty if the user has none. Raises NotAuthenticated if the user
        was erased, deactivated or signed out since `user` was loaded."""
        users = User.objects.select_for_update(no_key=True).filter(pk=user.pk, is_active=True)
        if not users.filter(token_version=user.token_version).exists():
            raise NotAuthenticated
        return self.filter(user=user)

    def lock_factor(
        self, user: User, factor_id: UUID
    ) -> "tuple[Factors, AuthenticatorApp | Passkey]":
        """Lock the user by `lock_user`. Returns the user's row of factors, and the app or passkey
        with this id. Raises NoSuchFactor for another id, and NotAuthenticated if the user was
        erased, deactivated or signed out since `user` was loaded."""
        for factors in self.lock_user(user):
            for factor in factors.app_and_passkeys():
                if factor.id == factor_id:
                    return factors, factor
        raise NoSuchFactor

    def lock_or_create(self, user: User) -> "tuple[Factors, list[str] | None]":
        """Lock the user by `lock_user`. Returns the user's row of factors, to add a factor to in
        the same transaction, and new recovery codes in clear, or None in their place if the user
        has a factor already.

        The first factor ends all sessions and enrolments, which were begun without one. The caller
        must then begin a new session of `user`, which has the new token version. Raises
        NotAuthenticated if the user was erased, deactivated or signed out since `user` was loaded.
        """
        factors = self.lock_user(user).first()
        if factors is not None:
            return factors, None
        factors = self.create(user=user)
        changes = {"has_second_factor": True, "token_version": next_token_version()}
        User.objects.filter(pk=user.pk).update(**changes)
        user.refresh_from_db(fields=["has_second_factor", "token_version"])
        return factors, factors.renew_codes()

    def rename(self, user: User, factor_id: UUID, name: str) -> "AuthenticatorApp | Passkey":
        """Rename a user's app or passkey, record that unless it has the name already, and return
        it. Raises NoSuchFactor for another id, and NotAuthenticated if the user was erased,
        deactivated or signed out since `user` was loaded."""
        with transaction.atomic():
            factors, factor = self.lock_factor(user, factor_id)
            if factor.name != name:
                self.filter(pk=user.pk, totp_id=factor_id).update(totp_name=name)
                factors.passkeys.filter(pk=factor_id).update(name=name)
                factor.name = name
                audit.record(Kind.FACTOR_RENAMED, actor=user, factor=str(factor_id))
        return factor

    def remove(self, user: User, factor_id: UUID) -> None:
        """Remove a user's app or passkey, and with the last one the recovery codes; record that,
        and notify the user. Sessions go on, except those that began with a passkey alone once no
        passkey is left. The caller has re-authenticated the user.

        Raises NotFound if the company was deleted, NotAuthenticated if the user was erased,
        deactivated or signed out since `user` was loaded, and NoSuchFactor for another id. For the
        last factor, raises FactorStillRequired if the company requires one, and LastBreakGlassAdmin
        if the company requires its provider and would have no break-glass admin left."""
        with transaction.atomic():
            # Locked, so that the company cannot begin to require a factor meanwhile.
            account = Account.objects.lock(user.account_id)
            factors, factor = self.lock_factor(user, factor_id)
            if len(factors.app_and_passkeys()) == 1:
                if account.second_factor == SecondFactor.REQUIRED:
                    raise FactorStillRequired
                factors.delete()
                User.objects.filter(pk=user.pk).update(has_second_factor=False)
                providers.rules.require_break_glass_admin(user.account_id)
            elif factor.kind == "totp":
                no_times = {"totp_added_at": None, "totp_used_at": None}
                self.filter(pk=user.pk).update(
                    totp_id=None, totp_secret="", totp_name="", **no_times
                )
            else:
                factors.passkeys.filter(pk=factor_id).delete()
            audit.record(Kind.FACTOR_REMOVED, actor=user, factor=factor.kind)
            user.send_notice("factor_removed", factor=factor.kind, name=factor.name)

    def renew_recovery_codes(self, user: User) -> list[str]:
        """Replace the user's recovery codes, record that, and notify the user. Returns the new
        codes in clear. The caller has re-authenticated the user. Raises OwnSecondFactorMissing
        without a second factor, and NotAuthenticated if the user was erased, deactivated or signed
        out since `user` was loaded."""
        with transaction.atomic():
            factors = self.lock_user(user).first()
            if factors is None:
                raise OwnSecondFactorMissing
            codes = factors.renew_codes()
            audit.record(Kind.RECOVERY_CODES_MADE, actor=user)
            user.send_notice("recovery_codes_made")
        return codes

    def reset(self, user: User, actor: Actor) -> bool:
        """Remove all factors and recovery codes of a user, end the user's sessions and e-mailed
        links, record that, and notify the user. Returns False, and does nothing, if the user has
        none. The caller has checked the actor's role and company.

        Raises CannotResetOwnFactors if the actor is the user, NotFound if the company was deleted,
        Django's PermissionDenied if the user was erased, or is protected and the actor no
        superuser, and LastBreakGlassAdmin if the company requires its provider and would have no
        break-glass admin left."""
        if actor == user:  # removing one's own takes re-authentication
            raise CannotResetOwnFactors
        with transaction.atomic():
            Account.objects.lock(user.account_id)
            users = User.objects.filter(pk=user.pk)
            if not users.manageable_by(actor).select_for_update(no_key=True).exists():
                raise PermissionDenied
            if not self.filter(user=user).delete()[0]:
                return False
            users.update(has_second_factor=False)
            providers.rules.require_break_glass_admin(user.account_id)
            users.sign_out()
            EmailedLink.end_all_of(user.pk)
            audit.record(Kind.FACTORS_RESET, actor=actor, subject=user)
            user.send_notice("factors_reset")
        return True


class Factors(models.Model):
    """A user's authenticator app and wrong codes. Passkeys and recovery codes refer to the row,
    which exists while the user has an app or a passkey."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="factors"
    )
    totp_id = models.UUIDField(null=True, editable=False)
    totp_secret = models.TextField(blank=True, editable=False)  # encrypted
    totp_step = models.BigIntegerField(default=0, editable=False)  # the last whose code was used
    totp_name = models.CharField(max_length=60, blank=True, editable=False)
    totp_added_at = models.DateTimeField(null=True, editable=False)
    totp_used_at = models.DateTimeField(null=True, editable=False)
    wrong_codes = models.PositiveIntegerField(default=0, editable=False)  # since the last right one
    warned_at = models.DateTimeField(null=True, editable=False)

    objects = FactorsQuerySet.as_manager()

    class Meta:
        verbose_name = verbose_name_plural = "second factors"

    def __str__(self) -> str:
        return f"second factors of {self.user_id}"

    def method_names(self) -> list[str]:
        """Those of "totp", "passkey" and "recovery_code" that the user has."""
        app = ["totp"] if self.totp_id else []
        passkeys = ["passkey"] if self.passkeys.exists() else []
        return app + passkeys + (["recovery_code"] if self.recovery_codes.exists() else [])

    def app_and_passkeys(self) -> "list[AuthenticatorApp | Passkey]":
        """The user's app and passkeys, oldest first."""
        apps = [self.authenticator_app()] if self.totp_id else []
        return sorted([*apps, *self.passkeys.all()], key=attrgetter("created_at"))

    def authenticator_app(self) -> AuthenticatorApp:
        return AuthenticatorApp(self.totp_id, self.totp_name, self.totp_added_at, self.totp_used_at)

    def add_totp(self, secret: bytes, step: int, name: str) -> AuthenticatorApp:
        """Add an authenticator app, record that, and notify the user, in the transaction of
        `lock_or_create`. The caller has checked the code of `step`, which is used up. Raises
        TooManyFactors if the user has an app."""
        if self.totp_id:
            raise TooManyFactors
        self.totp_id = uuid.uuid4()
        self.totp_secret = encrypt_for_row(self.user_id, totp.STORED_PURPOSE, secret)
        self.totp_step, self.totp_name = step, name
        self.totp_added_at, self.totp_used_at = timezone.now(), None
        columns = ["totp_id", "totp_secret", "totp_step", "totp_name", "totp_added_at"]
        # No others, since a wrong code or passkey may be counted meanwhile.
        self.save(update_fields=[*columns, "totp_used_at"])
        self.record_addition("totp", name)
        return self.authenticator_app()

    def add_passkey(self, **fields: object) -> "Passkey":
        """Add a passkey, record that, and notify the user, in the transaction of `lock_or_create`.
        `fields` are the result of `new_passkey` and a `name`. Raises TooManyFactors beyond
        MAX_PASSKEYS, and WrongPasskey if any user has registered the passkey already."""
        if self.passkeys.count() >= MAX_PASSKEYS:
            raise TooManyFactors
        try:
            with transaction.atomic():
                passkey = self.passkeys.create(**fields)
        except IntegrityError:
            raise WrongPasskey from None
        self.record_addition("passkey", passkey.name)
        return passkey

    def record_addition(self, factor: str, name: str) -> None:
        audit.record(Kind.FACTOR_ADDED, actor=self.user, factor=factor)
        is_first = len(self.app_and_passkeys()) == 1  # the notice tells that sessions were ended
        self.user.send_notice("factor_added", factor=factor, name=name, is_first=is_first)

    def use_totp(self, code: str) -> WrongCodeReason | None:
        """Use up a code of the app, and all codes of earlier steps. Resets the count of wrong
        codes, and encrypts the secret with the present SECRET_KEY. The caller counts failures.

        Returns None for a valid code, OLD_CODE for one of the last ten minutes that is no longer
        accepted, USED_CODE if a code of its step or of a later one was used, else WRONG_CODE.
        Without an app, with a secret that no SECRET_KEY decrypts, and after MAX_WRONG_CODES every
        code is a WRONG_CODE."""
        secret = decrypt_for_row(self.user_id, totp.STORED_PURPOSE, self.totp_secret)
        step = totp.find_step(secret, code, totp.STEPS_KNOWN_AS_OLD) if secret else None
        if secret is None or step is None or self.wrong_codes >= MAX_WRONG_CODES:
            return WrongCodeReason.WRONG_CODE
        if step < totp.latest_step() - totp.STEPS_BACK:
            return WrongCodeReason.OLD_CODE
        unused = Factors.objects.filter(pk=self.pk, totp_id=self.totp_id, totp_step__lt=step)
        is_used_up = unused.filter(wrong_codes__lt=MAX_WRONG_CODES).update(
            totp_step=step,
            totp_used_at=timezone.now(),
            totp_secret=encrypt_for_row(self.user_id, totp.STORED_PURPOSE, secret),
            wrong_codes=0,
        )
        return None if is_used_up else WrongCodeReason.USED_CODE

    def use_recovery_code(self, code: str) -> bool:
        """Use up a recovery code, in capitals and without separators, record that, and notify the
        user. Resets the count of wrong codes. Returns False if the user has no such code."""
        codes = self.recovery_codes.filter(digest=hash_of_code(self.user_id, code))
        with transaction.atomic():
            if not codes.delete()[0]:
                return False
            count = self.recovery_codes.count()
            audit.record(Kind.RECOVERY_CODE_USED, actor=self.user, left=count)
            few = count <= FEW_RECOVERY_CODES
            self.user.send_notice("recovery_code_used", left=count, few=few)
            self.forget_wrong_codes()
        return True

    def renew_codes(self) -> list[str]:
        """Replace the recovery codes, in the caller's transaction. Returns RECOVERY_CODE_COUNT new
        ones in clear, for the only time: digests are stored."""
        octets = [secrets.token_bytes(10) for _ in range(RECOVERY_CODE_COUNT)]
        codes = [base64.b32encode(code).decode() for code in octets]
        digests = [hash_of_code(self.user_id, code) for code in codes]
        self.recovery_codes.all().delete()
        RecoveryCode.objects.bulk_create(RecoveryCode(factors=self, digest=d) for d in digests)
        return ["-".join(code[n : n + 4] for n in range(0, len(code), 4)) for code in codes]

    def forget_wrong_codes(self) -> None:
        Factors.objects.filter(pk=self.pk, wrong_codes__gt=0).update(wrong_codes=0)

    def count_wrong_code(self) -> None:
        """Count a wrong code or passkey after a right password or link. Call it outside a
        transaction, which the error answer would roll back.

        From WARN_AT_WRONG_CODES on the user is mailed, at most once a day, since someone else may
        know the password. From MAX_WRONG_CODES on `use_totp` refuses the app's codes, which is
        recorded. A valid factor resets the count."""
        row, now = Factors.objects.filter(pk=self.pk), timezone.now()
        with transaction.atomic():
            row.update(wrong_codes=F("wrong_codes") + 1)
            count = row.values_list("wrong_codes", flat=True).first() or 0
            if count == MAX_WRONG_CODES:
                audit.record(Kind.CODES_STOPPED, subject=self.user)
            unwarned = row.filter(Q(warned_at=None) | Q(warned_at__lte=now - timedelta(days=1)))
            if count >= WARN_AT_WRONG_CODES and unwarned.update(warned_at=now):
                self.user.send_notice("wrong_codes", count=count)


class Passkey(models.Model):
    """A WebAuthn credential, which is public. `handle` is the random user handle that it was made
    with, and which it returns at each use."""

    kind = "passkey"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    factors = models.ForeignKey(Factors, models.CASCADE, related_name="passkeys", editable=False)
    credential_id = models.CharField(max_length=1400, unique=True, editable=False)  # base64url
    credential = models.BinaryField()  # AttestedCredentialData: the id and the public key
    handle = models.BinaryField()
    sign_count = models.PositiveBigIntegerField(default=0, editable=False)
    name = models.CharField(max_length=60, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["created_at"]

    def __str__(self) -> str:
        return self.name or str(self.pk)

    def use(self, count: int) -> None:
        """Store a use, and `count`, the authenticator's count of uses, and reset the user's count
        of wrong codes. A count that has not risen is recorded, and accepted: two devices may count
        separately. Synced passkeys leave it at 0. Raises WrongPasskey if the passkey was removed
        meanwhile."""
        new_values = {"sign_count": count, "last_used_at": timezone.now()}
        with transaction.atomic():
            if not Passkey.objects.filter(pk=self.pk).update(**new_values):
                raise WrongPasskey
            if count <= self.sign_count and (count or self.sign_count):
                audit.record(Kind.PASSKEY_COUNT_FELL, subject=self.factors.user)
            self.factors.forget_wrong_codes()


class RecoveryCode(models.Model):
    """A code for a user who has lost their app and passkeys. It has 80 random bits, so a plain hash
    protects it, and stays valid when SECRET_KEY changes."""

    factors = models.ForeignKey(
        Factors, models.CASCADE, related_name="recovery_codes", editable=False
    )
    digest = models.CharField(max_length=64, editable=False)

    def __str__(self) -> str:
        return f"recovery code {self.pk}"


def hash_of_code(user_id: UUID, code: str) -> str:
    return hashlib.sha256(user_id.bytes + code.encode()).hexdigest()
