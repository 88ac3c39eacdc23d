"""Databases that releases have left behind, under the service as it is now."""

import json
import sqlite3
import subprocess
import uuid
from pathlib import Path

import psycopg
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests import servers
from tests.releases.fill import SECRET_KEY

HERE = Path(__file__).parent


def load_postgresql(folder):
    name = f"release_{uuid.uuid4().hex[:8]}"
    servers.POSTGRES.execute(f"CREATE DATABASE {name}")
    url = servers.POSTGRES.url(name)
    psql = str(servers.POSTGRES.programs / "psql")
    dump = str(HERE / "1.0.0.postgresql.sql")
    subprocess.run([psql, "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, url], check=True)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE assistants_grant SET created_at = now()")
    return url


def load_sqlite(folder):
    path = folder / "release.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.executescript((HERE / "1.0.0.sqlite.sql").read_text("utf-8"))
        connection.execute("UPDATE assistants_grant SET created_at = datetime('now')")
    return f"sqlite:///{path}"


# A key as 1.0.0 had it, in a file.
OLD_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    serialization.Encoding.PEM,
    serialization.PrivateFormat.PKCS8,
    serialization.NoEncryption(),
)
LOADERS = {"postgresql": load_postgresql, "sqlite": load_sqlite}


@pytest.fixture(params=LOADERS)
def old(request, tmp_path, new_service):
    """A service over the release's database, migrated to this one; and what its people hold."""
    kind = request.param
    service = new_service(
        DATABASE_URL=LOADERS[kind](tmp_path), SECRET_KEY=SECRET_KEY, RATE_LIMIT_CREDENTIAL="1000"
    )
    service.manage("migrate", "-v0")
    (tmp_path / "first.pem").write_bytes(OLD_KEY)
    service.manage("importkeys", str(tmp_path))
    return service.start(), json.loads((HERE / f"1.0.0.{kind}.json").read_text("utf-8"))
