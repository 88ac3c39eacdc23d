"""How tests call the service in this process."""

import pytest
from django.test import Client

from accounts import tokens
from accounts.models import User
from keys.cache import signing_keys

# The body of the credential tier's 429, and of a lock's.
TOO_MANY_ATTEMPTS = {"error": "too many attempts; please try again later"}


class API:
    """A JSON client: bodies in, `(status, body)`-like Django responses out; its own cookies."""

    def __init__(self, **headers):
        self.client = Client(raise_request_exception=True)
        self.headers = headers

    @property
    def cookies(self):
        return self.client.cookies

    def call(self, method, path, body=None, **options):
        headers = self.headers | options.pop("headers", {})
        if method != "get":
            data = b"" if body is None else body
            options = {"data": data, "content_type": "application/json"} | options
        return getattr(self.client, method)(path, headers=headers, **options)

    def get(self, path, **options):
        return self.call("get", path, **options)

    def post(self, path, body=None, **options):
        return self.call("post", path, body, **options)

    def patch(self, path, body=None, **options):
        return self.call("patch", path, body, **options)

    def delete(self, path, **options):
        return self.call("delete", path, **options)


@pytest.fixture
def api():
    """A stranger."""
    return API()


def signing_key():
    """The key that signs in this process."""
    return signing_keys.signer


def bearer(user):
    """A client that carries a new access token of the user."""
    access, _ = tokens.issue_pair(User.objects.get(pk=user.pk))
    return API(authorization=f"Bearer {access}")


@pytest.fixture
def as_ada(ada):
    return bearer(ada)


@pytest.fixture
def as_bob(bob):
    return bearer(bob)


@pytest.fixture
def as_eve(eve):
    return bearer(eve)
