"""The lengths that the document publishes are those that the service accepts."""

import json

import pytest

from accounts import serializers as accounts
from config.schema import document
from invitations import serializers as invitations
from passwords import serializers as passwords
from signin import serializers as signin
from signin.factors import serializers as factors

SCHEMAS = json.loads(document())["components"]["schemas"]
BODIES = [
    signin.EmailSerializer,
    signin.LoginSerializer,
    signin.CompleteSignupSerializer,
    accounts.ProfileSerializer,
    invitations.AcceptSerializer,
    invitations.InviteSerializer,
    passwords.RedeemSerializer,
    factors.ProofSerializer,
    factors.RenameSerializer,
]


def bounds():
    """A serializer, its field, a length, and whether the document takes it."""
    for body in BODIES:
        name = f"{body.__name__.removesuffix('Serializer')}Request"
        schema = SCHEMAS.get(name) or SCHEMAS[f"Patched{name}"]
        for field, part in schema["properties"].items():
            if "maxLength" in part:
                yield body, field, part["minLength"] - 1, False
                # The shortest address has a dot in it, too, which no length tells.
                yield body, field, part["minLength"] if field != "email" else 254, True
                yield body, field, part["maxLength"], True
                yield body, field, part["maxLength"] + 1, False


def text(field, length):
    """Of that length, and right in every other way that it can be."""
    if field != "email" or length < 200:
        return "x" * length
    labels = ["b" * 47] * 3 + ["c" * (length - 205)]
    return f"{'a' * 60}@{'.'.join(labels)}"


@pytest.mark.parametrize(("body", "field", "length", "is_taken"), list(bounds()))
def test_published_lengths_are_the_service_s(body, field, length, is_taken):
    checked = body(data={field: text(field, length)})
    checked.is_valid()

    assert (field not in checked.errors) == is_taken
