"""An installation of 1.0.0, run by its own code, and upgraded as the guide says."""

import json
import time
import uuid

import httpx
import pytest

from tests import servers
from tests.releases.code import RELEASE_1_0_0, python_for, unpack

PASSWORD = "correct horse battery"
ADA = {"email": "ada@example.com", "password": PASSWORD}


def postgresql(folder):
    name = f"release_{uuid.uuid4().hex[:8]}"
    servers.POSTGRES.execute(f"CREATE DATABASE {name}")
    return servers.POSTGRES.url(name)


DATABASES = {"postgresql": postgresql, "sqlite": lambda folder: f"sqlite:///{folder}/db.sqlite3"}


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    """The code of 1.0.0, and a Python that runs it."""
    code = unpack(RELEASE_1_0_0, tmp_path_factory.mktemp("release") / "code")
    return code, python_for(code)


class Upgraded:
    """This service over what 1.0.0 has left behind, and what its users hold of 1.0.0: `links` and
    a grant, a browser's cookies, and a pair of tokens for each of its two signing keys."""

    def __init__(self, service):
        self.service = service
        self.browser = httpx.Client(base_url=service.url)

    def fill(self):
        """As 1.0.0: users, links, a lock, a grant, waiting mails, two keys, two sign-ins."""
        self.links = json.loads(self.service.run("-m", "tests.releases.fill"))
        self.service.start()
        self.pairs = [self.log_in()]
        self.service.manage("rotatekeys", "--delay", "0")
        servers.wait_until(lambda: len(self.published()) == 2, 60)  # the one process has noticed
        time.sleep(1)  # 1.0.0 rounds the time from which a key signs up to a whole second
        self.pairs.append(self.log_in())

    def published(self):
        return self.browser.get("/.well-known/jwks.json").json()["keys"]

    def log_in(self):
        answer = self.browser.post("/auth/login", json=ADA)
        assert answer.status_code == 200
        return answer.json()

    def stop(self):
        self.service.server.terminate()
        assert self.service.server.wait(20) == 0


@pytest.fixture(scope="module", params=DATABASES)
def upgraded(request, tmp_path_factory, new_shared_service, release):
    """Stop, migrate, importkeys, start: once for each database."""
    folder = tmp_path_factory.mktemp(request.param)
    service = new_shared_service(DATABASE_URL=DATABASES[request.param](folder))
    service.environment["RATE_LIMIT_CREDENTIAL"] = "1000"
    here = service.code, service.python
    service.code, service.python = release
    service.manage("migrate", "-v0")
    made = Upgraded(service)
    made.fill()
    made.stop()
    service.code, service.python = here
    service.manage("migrate", "-v0")
    service.manage("importkeys", str(service.folder / "data" / "keys"))
    service.start()
    yield made
    made.browser.close()
