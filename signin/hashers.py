"""How passwords are hashed."""

from django.contrib.auth.hashers import Argon2PasswordHasher
from nacl.exceptions import InvalidkeyError
from nacl.pwhash import PWHASH_SIZE, argon2id


class OwaspArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, 2 passes and 1 lane, computed by libsodium.

    The parameters are the first choice of OWASP's Password Storage Cheat Sheet; Django's own take
    100 MiB and eight lanes for each log-in. The hashes have Django's form, and Django's hasher
    reads those that libsodium does not: Argon2i and 2d, older versions, longer salts and outputs.
    """

    time_cost, memory_cost, parallelism = 2, 19 * 1024, 1
    # libsodium's salts are 16 random bytes. Django counts a salt's characters as letters and
    # digits, and 16 of those have 95 bits.
    salt_entropy = 95

    def salt(self) -> str:
        """Empty: libsodium draws the salt."""
        return ""

    def encode(self, password: str, salt: str) -> str:
        """`argon2$argon2id$v=19$…`; a hash with a given salt is made by Django's hasher."""
        if salt:
            return super().encode(password, salt)
        hashed = argon2id.str(password.encode(), self.time_cost, self.memory_cost * 1024)
        return f"argon2{hashed.decode()}"

    def verify(self, password: str, encoded: str) -> bool:
        hashed = encoded.removeprefix("argon2").encode()
        if not hashed.startswith(b"$argon2id$v=19$") or len(hashed) > PWHASH_SIZE:
            return super().verify(password, encoded)
        try:
            return bool(argon2id.verify(hashed, password.encode()))
        except InvalidkeyError:
            return False
