"""Second factors in requests, and the methods of sign-ins."""

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from accounts import tokens
from accounts.models import User
from accounts.tokens import AMR_PASSWORD
from api.views import ValidatedData
from signin.errors import WrongCodeReason, WrongPasskey
from signin.factors.models import Factors, Passkey
from signin.factors.passkeys import use_passkey

SEPARATORS = re.compile(r"[\s-]")
# The alphabet of recovery codes (RFC 4648 §6) has neither 0 nor 1.
MISREAD = str.maketrans("01", "OI")
SIX_DIGITS = re.compile(r"[0-9]{6}")


class Method(enum.StrEnum):
    """The method of a sign-in."""

    PASSWORD = enum.auto()  # or an e-mailed link
    TOTP = enum.auto()
    RECOVERY_CODE = enum.auto()
    PASSKEY = enum.auto()  # besides the password
    PASSKEY_ALONE = enum.auto()
    SSO = enum.auto()  # at the company's provider, which also asks for second factors


AMR = {  # the `amr` of tokens (RFC 8176)
    Method.PASSWORD: AMR_PASSWORD,
    Method.TOTP: ["pwd", "otp", "mfa"],
    Method.RECOVERY_CODE: ["pwd", "otp", "mfa"],
    Method.PASSKEY: ["pwd", "pop", "mfa"],
    Method.PASSKEY_ALONE: ["pop", "user", "mfa"],
    Method.SSO: [tokens.SSO],
}


@dataclass(frozen=True)
class FactorInput:
    """A code as typed, an AuthenticationResponseJSON, or neither."""

    code: str = ""
    passkey: Any = None

    @classmethod
    def pop_from(cls, body: ValidatedData) -> Self:
        """The proof of a validated body, out of which it is taken."""
        return cls(body.pop("code", ""), body.pop("passkey", None))

    def __bool__(self) -> bool:
        return bool(self.code or self.passkey)

    @property
    def method(self) -> Method:
        if self.passkey:
            return Method.PASSKEY
        return Method.TOTP if SIX_DIGITS.fullmatch(self.plain_code) else Method.RECOVERY_CODE

    @property
    def plain_code(self) -> str:
        """The code without separators."""
        return SEPARATORS.sub("", self.code).upper()

    def check_and_use(self, user: User, factors: Factors) -> WrongCodeReason | None:
        """Use the proof up. Returns None if it is valid for the user, else why it is not."""
        if self.method is Method.TOTP:
            return factors.use_totp(self.plain_code)
        if self.method is Method.RECOVERY_CODE:
            valid = factors.use_recovery_code(self.plain_code.translate(MISREAD))
            return None if valid else WrongCodeReason.WRONG_RECOVERY_CODE
        try:
            use_passkey(self.passkey, user)
        except WrongPasskey:
            return WrongCodeReason.WRONG_PASSKEY
        return None


NO_FACTOR = FactorInput()


def remaining_amr(user: User, amr: Sequence[str]) -> Sequence[str] | None:
    """The `amr` for a refreshed token: only `pwd` if the second factor was removed since, None if
    nothing is left. Without a second factor it takes no query.
    """
    if "mfa" not in amr:
        return amr
    passkeys = Passkey.objects.filter(factors=user.pk)
    if user.has_second_factor and ("pop" not in amr or passkeys.exists()):
        return amr
    return AMR_PASSWORD if "pwd" in amr else None
