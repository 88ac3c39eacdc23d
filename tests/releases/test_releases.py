"""What earlier releases have left behind: their migrations stay as they were, and a database that
one of them made is migrated and goes on with what its people hold."""

import hashlib
import json
import sqlite3
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests import servers
from tests.conftest import Service
from tests.releases.fill import PASSWORD, SECRET_KEY

HERE = Path(__file__).parent
# SHA-256 of each released migration. A release adds its own; none is ever changed.
RELEASED: dict[str, str] = json.loads((HERE / "migrations.json").read_text("utf-8"))


@pytest.mark.parametrize("path", RELEASED)
def test_released_migration_stays_as_it_was(path: str) -> None:
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == RELEASED[path]


def load_postgresql(folder: Path) -> str:
    name = f"release_{uuid.uuid4().hex[:8]}"
    servers.POSTGRES.execute(f"CREATE DATABASE {name}")
    url = servers.POSTGRES.url(name)
    psql = str(servers.POSTGRES.programs / "psql")
    dump = str(HERE / "1.0.0.postgresql.sql")
    subprocess.run([psql, "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, url], check=True)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE assistants_grant SET created_at = now()")
    return url


def load_sqlite(folder: Path) -> str:
    path = folder / "release.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.executescript((HERE / "1.0.0.sqlite.sql").read_text("utf-8"))
        connection.execute("UPDATE assistants_grant SET created_at = datetime('now')")
    return f"sqlite:///{path}"


LOADERS = {"postgresql": load_postgresql, "sqlite": load_sqlite}


@pytest.fixture(params=LOADERS)
def old(
    request: Any, tmp_path: Path, new_service: Callable[..., Service]
) -> tuple[Service, dict[str, str]]:
    """A service over the release's database, migrated to this one; and what its people hold."""
    kind = request.param
    service = new_service(
        DATABASE_URL=LOADERS[kind](tmp_path), SECRET_KEY=SECRET_KEY, RATE_LIMIT_CREDENTIAL="1000"
    )
    service.manage("migrate", "-v0")
    return service.start(), json.loads((HERE / f"1.0.0.{kind}.json").read_text("utf-8"))


def test_people_of_an_older_release_go_on(old: tuple[Service, dict[str, str]]) -> None:
    service, held = old
    new = {"first_name": "G", "last_name": "H", "password": PASSWORD}
    grant = {"grant_type": "refresh_token", "refresh_token": held["grant"]}

    with httpx.Client(base_url=service.url) as http:
        ada = {"email": "ada@example.com", "password": PASSWORD}
        signed_in = http.post("/auth/login", json=ada)
        bearer = {"Authorization": f"Bearer {signed_in.json()['access_token']}"}
        answers = {
            "log-in": signed_in,
            "identity": http.get("/auth/me", headers=bearer),
            "people": http.get("/users", headers=bearer),
            "lock": http.post("/auth/login", json=ada | {"email": "locked@example.com"}),
            "sign-up": http.post(
                "/auth/complete-signup",
                json=new | {"token": held["signup"], "account_name": "Difference Engines"},
            ),
            "invitation": http.post(
                "/invitations/accept", json=new | {"token": held["invitation"]}
            ),
            "password": http.post(
                "/password-changes/redeem",
                json={"token": held["password change"], "password": "laws of thought"},
            ),
            "grant": http.post("/oauth/token", data=grant | {"client_id": held["client"]}),
        }
    service.manage("sendmail", "--once")

    expected = dict.fromkeys(answers, 200) | {"lock": 429}
    assert {name: answer.status_code for name, answer in answers.items()} == expected
    assert answers["people"].json()["total"] == 3
    mails = [path.read_text() for path in (service.folder / "mails").iterdir()]
    assert any("To: new@example.com" in mail for mail in mails)
