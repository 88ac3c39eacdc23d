"""What is shown beside the password, and what a sign-in stands on."""

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from accounts.generics import Data
from accounts.models import User
from accounts.tokens import PASSWORD
from signin.errors import WrongPasskey
from signin.factors.models import Factors, Passkey
from signin.factors.passkeys import take_passkey

SEPARATORS = re.compile(r"[\s-]")
SIX_DIGITS = re.compile(r"[0-9]{6}")


class Method(enum.StrEnum):
    """By what somebody has signed in."""

    PASSWORD = enum.auto()  # or a mailed link
    TOTP = enum.auto()
    RECOVERY_CODE = enum.auto()
    PASSKEY = enum.auto()  # beside the password
    PASSKEY_ALONE = enum.auto()

    @property
    def detail(self) -> Data:
        """What the audit log says of it."""
        return {} if self is Method.PASSWORD else {"method": self.value}


AMR = {  # what tokens say of it (RFC 8176)
    Method.PASSWORD: PASSWORD,
    Method.TOTP: ["pwd", "otp", "mfa"],
    Method.RECOVERY_CODE: ["pwd", "otp", "mfa"],
    Method.PASSKEY: ["pwd", "pop", "mfa"],
    Method.PASSKEY_ALONE: ["pop", "user", "mfa"],
}


@dataclass(frozen=True)
class Proof:
    """A code, as it was typed, or an AuthenticationResponseJSON; or neither."""

    code: str = ""
    passkey: Any = None

    @classmethod
    def pop(cls, data: Data) -> Self:
        """What a valid body holds of it, which is taken out."""
        return cls(data.pop("code", "") or "", data.pop("passkey", None))

    def __bool__(self) -> bool:
        return bool(self.code or self.passkey)

    @property
    def method(self) -> Method:
        """What this claims to be."""
        if self.passkey:
            return Method.PASSKEY
        return Method.TOTP if SIX_DIGITS.fullmatch(self.plain_code) else Method.RECOVERY_CODE

    @property
    def plain_code(self) -> str:
        """The code without what is there for reading alone."""
        return SEPARATORS.sub("", self.code).upper()

    def holds(self, user: User, factors: Factors) -> bool:
        """Whether it is one of the person's, which it uses up."""
        if self.method is Method.TOTP:
            return factors.take_totp(self.plain_code)
        if self.method is Method.RECOVERY_CODE:
            return factors.take_recovery_code(self.plain_code)
        try:
            take_passkey(self.passkey, user)
        except WrongPasskey:
            return False
        return True


NOTHING = Proof()


def amr_still(user: User, amr: Sequence[str]) -> Sequence[str] | None:
    """What a refreshed token may say of how its user signed in, so that a factor's assurance ends
    with the factor: `pwd` alone where the second factor is gone, and None where nothing is left.

    A sign-in without a second factor costs no query.
    """
    if "mfa" not in amr:
        return amr
    passkeys = Passkey.objects.filter(factors=user.pk)
    if user.has_second_factor and ("pop" not in amr or passkeys.exists()):
        return amr
    return PASSWORD if "pwd" in amr else None
