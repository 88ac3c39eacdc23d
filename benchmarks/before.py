"""The service's settings, but for how passwords are hashed."""

from config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["benchmarks.hashers.Before"]
