"""No log line may hold a password, a token or a link."""

import logging
import re

import pytest

from config.logs import TextFormatter
from tests.cast import PASSWORD

# What no log line may hold: the password above, a JWT, a link in a mail.
SECRETS = re.compile(rf"{PASSWORD}|eyJ[\w-]{{10,}}\.eyJ|#token=|Bearer ")


@pytest.fixture(scope="session", autouse=True)
def no_secret_in_any_log():
    """All that the run logs is searched when the run is over."""
    lines = []
    handler = logging.Handler()
    formatter = TextFormatter()
    handler.emit = lambda record: lines.append(formatter.format(record))
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)
    told = [line for line in lines if SECRETS.search(line)]
    assert told == [], "a password, a token or a link is logged (SECRETS in tests/logs.py)"
