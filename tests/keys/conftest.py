"""The signing keys of these tests are those of the database, as a process that serves has them."""

from datetime import timedelta

import pytest

from keys.cache import signing_keys
from keys.models import SigningKey
from tests.clients import API


@pytest.fixture
def first(db):
    """The first key, which signs."""
    signing_keys.__init__()
    SigningKey.objects.all().delete()
    SigningKey.objects.make_first()
    signing_keys.refresh()
    return SigningKey.objects.get()


def look():
    """Two seconds later."""
    signing_keys.refresh()


def grow_older(**time):
    """That time later, for every key."""
    for key in SigningKey.objects.all():
        SigningKey.objects.filter(pk=key.pk).update(signs_from=key.signs_from - timedelta(**time))
    signing_keys.__init__()
    signing_keys.refresh()


def me(access):
    return API(authorization=f"Bearer {access}").get("/auth/me").status_code


def published():
    return [key["kid"] for key in API().get("/.well-known/jwks.json").json()["keys"]]
