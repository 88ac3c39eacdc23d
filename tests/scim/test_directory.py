"""A whole directory against a started service, which dies on the way.

PEOPLE=5000 makes it as large as a large company's.
"""

import http.client
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Timer
from urllib.parse import quote

import psutil

from tests.requests import ask
from tests.scim.conftest import CORE, PATCH_OP, operation, provisioned
from tests.servers import wait_until

PEOPLE = int(os.environ.get("PEOPLE", "400"))


class Sync:
    """A directory that tries each request until it is answered, and looks a user up whose creation
    had no answer. Like Entra ID's, it makes several requests at a time."""

    def __init__(self, service):
        self.service, self.ids = service, {}
        self.headers = {"Authorization": f"Bearer {provisioned(service)}"}

    def ask(self, method, path, body=None):
        def answer():
            try:
                answer = ask(self.service.url, method, f"/scim/v2/{path}", body, **self.headers)
            except (OSError, http.client.HTTPException):
                return None
            return answer if answer.status != 503 else None

        return wait_until(answer, 120, 0.2)

    def create(self, name):
        body = {"schemas": [CORE], "userName": f"{name}@example.com", "externalId": name}
        answer = self.ask("POST", "Users", body | {"displayName": f"Ann {name}"})
        if answer.status == 409:
            text = quote(f'externalId eq "{name}"')
            [user] = self.ask("GET", f"Users?filter={text}").json()["Resources"]
        else:
            assert answer.status == 201, answer
            user = answer.json()
        self.ids[name] = user["id"]

    def change(self, name):
        body = {"schemas": [PATCH_OP], "Operations": [operation("Bee", "name.familyName")]}
        assert self.ask("PATCH", f"Users/{self.ids[name]}", body).status == 200

    def remove(self, name):
        assert self.ask("DELETE", f"Users/{self.ids[name]}").status in {204, 404}

    def for_all(self, act, names):
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(act, names))

    def rows(self):
        """What the service has, page by page, without the admin."""
        rows, start = {}, 1
        while users := self.ask("GET", f"Users?startIndex={start}").json()["Resources"]:
            rows |= {
                u.get("externalId"): (u["id"], u.get("displayName"), u["active"]) for u in users
            }
            start += len(users)
        rows.pop(None, None)
        return rows


def kill(service):
    """End all processes at once, and start the service again."""
    master = psutil.Process(service.server.pid)
    for process in [*master.children(recursive=True), master]:
        process.kill()
    service.server.wait()
    service.start()


def test_directory_is_imported_changed_and_emptied_although_the_service_dies_twice(new_service):
    service = new_service(RATE_LIMIT_SCIM="1000000", WEB_CONCURRENCY="2")
    directory = Sync(service)
    service.start()
    names = [f"n{number}" for number in range(PEOPLE)]

    for act in (directory.create, directory.change):
        death = Timer(1, kill, [service])
        death.start()
        directory.for_all(act, names)
        death.join()
        family = "Bee" if act == directory.change else None
        assert directory.rows() == {
            name: (directory.ids[name], f"Ann {family or name}", True) for name in names
        }
    assert service.query("SELECT count(*) FROM scim_scimuser") == [(PEOPLE,)]
    events = "SELECT count(*) FROM audit_record WHERE kind = 'user.provisioned'"
    assert service.query(events) == [(PEOPLE,)]

    directory.for_all(directory.remove, names)
    assert directory.rows() == {}
    active = "SELECT email FROM accounts_user WHERE is_active"
    assert service.query(active) == [("ada@example.com",)]
