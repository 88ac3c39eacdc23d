"""Password hashes: written by libsodium in Django's form, and read whatever their parameters."""

import random
import re
import threading

import argon2
import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, check_password, make_password
from nacl.pwhash import argon2id

from signin.hashers import OwaspArgon2PasswordHasher

pytestmark = pytest.mark.usefixtures("real_hashes")
OURS = OwaspArgon2PasswordHasher()
FORM = re.compile(r"argon2\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}")


class Stock(Argon2PasswordHasher):
    """Django's own hasher, which computes by argon2-cffi, with our parameters."""

    time_cost, memory_cost, parallelism = 2, 19 * 1024, 1


def passwords():
    """Random ones of many lengths and alphabets; the same in each run."""
    dice = random.Random(2)
    letters = [*"abc 09$", "\0", "\x7f", "ß", "é", "\u0301", "Ω", "密", "\U0001f511"]
    lengths = [1, 8, 64, 128, 256, 1000]
    return ["".join(dice.choices(letters, k=length)) for length in lengths]


@pytest.mark.parametrize("password", ["", *passwords()], ids=len)
def test_each_library_verifies_the_others_hashes(password):
    for encoded in (make_password(password), Stock().encode(password, Stock().salt())):
        assert OURS.verify(password, encoded)
        assert Stock().verify(password, encoded)
        assert not OURS.verify(f"{password}x", encoded)


def test_hash_has_the_form_of_django_and_a_new_salt():
    hashes = {make_password("correct horse battery") for _ in range(2)}

    assert len(hashes) == 2
    assert all(FORM.fullmatch(encoded) for encoded in hashes)


def test_hasher_uses_a_given_salt():
    encoded = OURS.encode("correct horse", "sixteen letters!")

    assert encoded == OURS.encode("correct horse", "sixteen letters!")
    assert OURS.verify("correct horse", encoded)


@pytest.mark.parametrize(
    "change", [{"type": argon2.Type.I}, {"type": argon2.Type.D}, {"hash_len": 64}, {"version": 16}]
)
def test_what_libsodium_does_not_read_goes_to_argon2_cffi(change):
    cost = {"time_cost": 2, "memory_cost": 64, "parallelism": 2, "hash_len": 32}
    chosen = cost | {"type": argon2.Type.ID} | change
    hashed = argon2.low_level.hash_secret(b"correct horse", b"s" * 22, **chosen)
    encoded = f"argon2{hashed.decode()}"

    assert OURS.verify("correct horse", encoded)
    assert not OURS.verify("wrong horse", encoded)


@pytest.mark.parametrize(
    ("hasher", "renewed"),
    [(Stock, False), (OwaspArgon2PasswordHasher, False), (Argon2PasswordHasher, True)],
)
def test_only_older_parameters_are_renewed(hasher, renewed):
    again = []
    encoded = hasher().encode("correct horse", hasher().salt())

    assert check_password("correct horse", encoded, again.append)
    assert again == ["correct horse"] * renewed


@pytest.mark.parametrize(
    "spoil",
    [
        lambda hashed: hashed[:-1],
        lambda hashed: f"{hashed}=",
        lambda hashed: hashed.replace("t=2", "t=3"),
        lambda hashed: hashed.replace("p=1", "p=0"),
        lambda hashed: hashed.replace("m=19456", "m=x"),
        lambda hashed: hashed[:40],
        lambda hashed: "argon2$argon2id$v=19$",
    ],
)
def test_malformed_hash_matches_no_password(spoil):
    encoded = make_password("correct horse")

    assert not OURS.verify("correct horse", spoil(encoded))


def test_others_run_while_it_hashes():
    """The interpreter's lock is free: this thread counts on during one long hash."""
    done = threading.Event()

    def hash_for_long():
        argon2id.kdf(32, b"correct horse", b"s" * 16, 10, 19 * 1024 * 1024)
        done.set()

    counted = 0
    hashing = threading.Thread(target=hash_for_long)
    hashing.start()
    while not done.is_set():
        counted += 1
        done.wait(0.001)
    hashing.join()

    assert counted > 10
