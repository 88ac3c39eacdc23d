"""The floor's WSGI application."""

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.floor.settings"
application = get_wsgi_application()

# As the service does: the floor of a log-in is the same hash.
from signin.hashers import OwaspArgon2PasswordHasher  # noqa: E402

OwaspArgon2PasswordHasher.choose()
