"""Sealed values: valid for one purpose and a time, also while SECRET_KEY is being changed."""

import json

import pytest
from django.core.signing import TimestampSigner

from base.sealed import InvalidSeal, Seal, fernet_for

VALUE = ["ada@example.com", 7, None]
KINDS = [Seal("a purpose", seconds=60), Seal("a purpose", seconds=60, is_secret=False)]


@pytest.mark.parametrize("seal", KINDS)
def test_sealed_value_is_valid_for_its_purpose_and_time(seal, time_machine):
    time_machine.move_to("2026-03-01T12:00:00Z", tick=False)
    sealed = seal.seal(VALUE)
    assert seal.unseal(sealed) == VALUE

    with pytest.raises(InvalidSeal):
        Seal("another purpose", 60, seal.is_secret).unseal(sealed)
    time_machine.shift(61)
    with pytest.raises(InvalidSeal):
        seal.unseal(sealed)


@pytest.mark.parametrize("seal", KINDS)
@pytest.mark.parametrize("text", ["", "a", "é", "a:b:c", "gAAAA", "\ud800"])
def test_unsealed_text_is_refused(seal, text):
    with pytest.raises(InvalidSeal):
        seal.unseal(text)


@pytest.mark.parametrize("seal", KINDS)
def test_sealed_value_outlives_a_change_of_the_secret_by_its_fallback(seal, settings):
    sealed, old = seal.seal(VALUE), settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 50, [old]
    assert seal.unseal(sealed) == VALUE

    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(InvalidSeal):
        seal.unseal(sealed)


def test_values_sealed_by_the_release_before_are_read():
    encrypted = fernet_for("a purpose").encrypt(json.dumps(VALUE).encode()).decode()
    signed = TimestampSigner(salt="a purpose").sign_object(VALUE)

    assert KINDS[0].unseal(encrypted) == KINDS[1].unseal(signed) == VALUE
