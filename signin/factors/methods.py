"""Second factors as requests contain them, and the methods of sign-ins."""

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

from accounts import tokens
from accounts.models import User
from accounts.tokens import AMR_PASSWORD
from signin.errors import WrongCodeReason, WrongPasskey
from signin.factors.models import Factors, Passkey
from signin.factors.passkeys import use_passkey

SEPARATORS = re.compile(r"[\W_]")  # spaces, dashes of all kinds, and invisible characters
MISREAD_CHARACTERS = str.maketrans("01", "OI")  # recovery codes (RFC 4648 §6) have neither 0 nor 1
SIX_DIGITS = re.compile(r"[0-9]{6}")


class Method(enum.StrEnum):
    """How a user signed in."""

    PASSWORD = enum.auto()  # or an e-mailed link, without a second factor
    TOTP = enum.auto()
    RECOVERY_CODE = enum.auto()
    PASSKEY = enum.auto()  # after the password
    PASSKEY_ALONE = enum.auto()
    SSO = enum.auto()  # at the company's provider, which also asks for second factors


AMR = {  # the `amr` claim of the tokens (RFC 8176)
    Method.PASSWORD: AMR_PASSWORD,
    Method.TOTP: ["pwd", "otp", "mfa"],
    Method.RECOVERY_CODE: ["pwd", "otp", "mfa"],
    Method.PASSKEY: ["pwd", "pop", "mfa"],
    Method.PASSKEY_ALONE: ["pop", "user", "mfa"],
    Method.SSO: [tokens.PROVIDER_METHOD],
}


@dataclass(frozen=True)
class FactorInput:
    """The second factor in a request: a code or a passkey's answer. It is false without either."""

    code: str = ""  # of an authenticator app, or a recovery code, as typed
    passkey: Any = None  # an AuthenticationResponseJSON

    def __bool__(self) -> bool:
        return bool(self.code or self.passkey)

    @property
    def method(self) -> Method:
        """PASSKEY for a passkey's answer, TOTP for six digits, RECOVERY_CODE for anything else."""
        if self.passkey:
            return Method.PASSKEY
        return Method.TOTP if SIX_DIGITS.fullmatch(self.plain_code) else Method.RECOVERY_CODE

    @property
    def plain_code(self) -> str:
        """The code without separators, in capitals. Keyboards of other scripts type other digits,
        and full-width letters: they become those of ASCII."""
        plain = SEPARATORS.sub("", normalize("NFKC", self.code)).upper()
        return "".join(str(int(sign)) if sign.isdecimal() else sign for sign in plain)

    def check_and_use(self, factors: Factors) -> WrongCodeReason | None:
        """Use the factor up. Returns None if it is valid for the user of `factors`, else why it is
        not. The caller counts a failed attempt. The input must not be empty."""
        if self.method is Method.TOTP:
            return factors.use_totp(self.plain_code)
        if self.method is Method.RECOVERY_CODE:
            is_valid = factors.use_recovery_code(self.plain_code.translate(MISREAD_CHARACTERS))
            return None if is_valid else WrongCodeReason.WRONG_RECOVERY_CODE
        try:
            use_passkey(self.passkey, factors.pk)
        except WrongPasskey:
            return WrongCodeReason.WRONG_PASSKEY
        return None


def remaining_amr(user: User, amr: Sequence[str]) -> Sequence[str] | None:
    """The `amr` for new tokens of a session that began with this `amr`. It stays the same if it
    names no second factor, and while the user has one: a passkey, if `amr` names a passkey.
    Otherwise it becomes that of the password, or None, which ends the session, after a passkey
    alone."""
    if "mfa" not in amr:
        return amr
    passkeys = Passkey.objects.filter(factors=user.pk)
    if user.has_second_factor and ("pop" not in amr or passkeys.exists()):
        return amr
    return AMR_PASSWORD if "pwd" in amr else None
