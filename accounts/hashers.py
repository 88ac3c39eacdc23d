"""How passwords are hashed."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class OwaspArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, 2 passes and 1 lane: the first choice of OWASP's Password Storage
    Cheat Sheet. Django's own parameters take 100 MiB and eight lanes for each log-in."""

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1
