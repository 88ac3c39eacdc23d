"""An installation as docs/install.md makes it, for the tests of its commands."""

import pytest

from tests import servers
from tests.config.guide import OPERATOR, Shells, block


@pytest.fixture(scope="module")
def shells(tmp_path_factory):
    """An installation that the guide's commands have set up, with a server of its own."""
    folder = tmp_path_factory.mktemp("consulting")
    server = servers.PostgresServer(folder.name)
    shells = Shells(server, folder)
    shells.as_postgres(block("install", "As `postgres`, make two roles"))
    shells.as_operator(block("install", "Make the tables. The owner's password"))
    shells.manage("createsuperuser --noinput", **OPERATOR)
    yield shells
    server.stop()
