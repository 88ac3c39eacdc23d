"""Fixtures for tests of second factors."""

import pytest

from tests.signin.factors.helpers import with_app, with_passkey


@pytest.fixture
def codes(ada):
    """Ada's recovery codes; she has an app."""
    return with_app(ada)


@pytest.fixture
def key(ada):
    """Ada's passkey."""
    return with_passkey(ada)
