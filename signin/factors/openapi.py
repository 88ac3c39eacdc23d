"""What the document shows of second factors beside their serializers."""

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import APIException

from signin.errors import (
    FactorMustBeSetUp,
    FactorNeeded,
    NoSuchFactor,
    SecondFactorRequired,
    TooManyFactors,
    WrongCode,
    WrongPassword,
)
from signin.factors.serializers import A_FACTOR, FactorResponse
from signin.openapi import COOKIE
from signin.serializers import AuthResponse
from throttling.openapi import Raises, example

FACTOR_ERRORS: tuple[type[FactorNeeded], ...] = (SecondFactorRequired, WrongCode, FactorMustBeSetUp)
PROOF_NEEDED = Raises(WrongPassword, SecondFactorRequired, WrongCode, FactorMustBeSetUp)


@example({"factor": A_FACTOR, "recovery_codes": ["MFRG-GZDF-MZTW-Q2LK"], "session": None})
class AddedResponse(serializers.Serializer):
    """What has come of adding a factor."""

    factor = FactorResponse()
    recovery_codes = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="With the first factor: shown this once.",
    )
    session = AuthResponse(allow_null=True, help_text="Where an enrolment has added it.")


def adds(status: int, wrong: type[APIException]) -> dict[str, Any]:
    """For `extend_schema`: what a call that adds a factor answers."""
    errors = {403: Raises(wrong), 404: Raises(NoSuchFactor), 409: Raises(TooManyFactors)}
    return {"responses": {status: AddedResponse} | errors, "parameters": [COOKIE]}
