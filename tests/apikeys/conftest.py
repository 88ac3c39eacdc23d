"""Keys, and clients that carry them."""

import pytest

from api.views import Scope
from apikeys.models import ApiKey
from audit.actors import COMMAND
from tests.clients import API


def client_of(key):
    return API(authorization=f"Bearer {key}")


@pytest.fixture
def new_key(ada):
    """Makes a key of Ada's company, or of another maker's, and gives its row and itself."""

    def make(*scopes, maker=ada, name="Payroll", **more):
        return ApiKey.objects.make(maker, name, scopes or list(Scope), **more)

    return make


@pytest.fixture
def by_key(new_key):
    """A client with a key that has these scopes, or all."""
    return lambda *scopes, **more: client_of(new_key(*scopes, **more)[1])


@pytest.fixture
def operators_key(db):
    """A client with a key that sees all companies."""
    return client_of(ApiKey.objects.make(COMMAND, "SIEM", ["events:read", "users:read"])[1])
