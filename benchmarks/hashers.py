"""How passwords were hashed before: what the log-in of today is measured beside."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class Before(Argon2PasswordHasher):
    """Django's own hasher, by argon2-cffi, with the service's parameters."""

    time_cost, memory_cost, parallelism = 2, 19 * 1024, 1
