"""A project with nothing in it: no middleware, no database, no authentication."""

import os

SECRET_KEY = "a benchmark signs nothing"
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "benchmarks.floor.urls"
USE_TZ = True
PASSWORD_HASHERS = ["signin.hashers.OwaspArgon2PasswordHasher"]
INSTALLED_APPS = ["rest_framework"]
WEB_CONCURRENCY = int(os.environ["WEB_CONCURRENCY"])  # which the hasher reads
HASHES_AT_A_TIME = 0  # as many as it finds right
WEB_THREADS = int(os.environ["WEB_THREADS"])  # likewise
REDIS_URL = None  # which gunicorn's settings look after
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}
