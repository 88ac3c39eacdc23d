"""Password hashes: written by libsodium in Django's form, and read whatever their parameters."""

import re

import argon2
import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password

from signin.hashers import OwaspArgon2PasswordHasher

pytestmark = pytest.mark.usefixtures("real_hashes")
OURS = OwaspArgon2PasswordHasher()
FORM = re.compile(r"argon2\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}")


class Stock(Argon2PasswordHasher):
    """Django's own hasher, which computes by argon2-cffi, with our parameters."""

    time_cost, memory_cost, parallelism = 2, 19 * 1024, 1


@pytest.mark.parametrize("password", ["", "abc 09$", "\0\x7f", "ßéΩ密\u0301\U0001f511", "x" * 1000])
def test_each_library_verifies_the_others_hashes(password):
    for encoded in (make_password(password), Stock().encode(password, Stock().salt())):
        assert OURS.verify(password, encoded)
        assert Stock().verify(password, encoded)
        assert not OURS.verify(f"{password}x", encoded)


def test_hash_has_the_form_of_django_and_a_new_salt():
    hashes = {make_password("correct horse battery") for _ in range(2)}

    assert len(hashes) == 2
    assert all(FORM.fullmatch(encoded) for encoded in hashes)


@pytest.mark.parametrize(
    "change", [{"type": argon2.Type.I}, {"type": argon2.Type.D}, {"hash_len": 64}, {"version": 16}]
)
def test_hash_that_libsodium_does_not_read_goes_to_argon2_cffi(change):
    cost = {"time_cost": 2, "memory_cost": 64, "parallelism": 2, "hash_len": 32}
    chosen = cost | {"type": argon2.Type.ID} | change
    hashed = argon2.low_level.hash_secret(b"correct horse", b"s" * 22, **chosen)
    encoded = f"argon2{hashed.decode()}"

    assert OURS.verify("correct horse", encoded)
    assert not OURS.verify("wrong horse", encoded)
