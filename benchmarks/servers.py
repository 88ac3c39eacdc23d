"""What is measured: the service and the floors, each under gunicorn with the same settings."""

import os
import platform
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from tests import servers

PROCESSES = 2
ENVIRONMENT = {
    "WEB_CONCURRENCY": str(PROCESSES),
    "WEB_THREADS": os.environ.get("WEB_THREADS", "96"),
    "COOKIE_SECURE": "false",
    "SERVICE_URL": "http://127.0.0.1:8000",  # assistants' tokens are for this one, on any port
    # Callers are told apart by X-Forwarded-For, so that some can have their limit exhausted.
    "TRUSTED_PROXY_COUNT": "1",
    "RATE_LIMIT_AUTHENTICATED": "2000000000",
    "RATE_LIMIT_PUBLIC": "2000000000",
    "RATE_LIMIT_CREDENTIAL": "2000000000",
    "RATE_LIMIT_SCIM": "2000000000",
    "RATE_LIMIT_WINDOW_SECONDS": "86400",
}


def set_up() -> None:
    """Point this process and the service at the servers of the tests, and migrate."""
    import django
    from django.core.management import call_command

    servers.start()
    servers.POSTGRES.execute("CREATE DATABASE service")
    os.environ.update(ENVIRONMENT, DJANGO_SETTINGS_MODULE="config.settings")
    django.setup()
    call_command("migrate", verbosity=0)


def make_filled(users: int) -> None:
    """A copy of the service's database, with so many users more: the same calls can be made."""
    from django.db import connection

    connection.close()  # PostgreSQL copies a database that nobody is connected to
    servers.POSTGRES.execute("CREATE DATABASE filled TEMPLATE service")
    command = [sys.executable, "-m", "benchmarks.fill", str(users)]
    subprocess.run(
        command, env=os.environ | {"DATABASE_URL": servers.POSTGRES.url("filled")}, check=True
    )


def gunicorn(name: str, tree: str = ".") -> "Gunicorn":
    """Start the server of that name: `floor`, `service`, `filled`, `metrics` (with METRICS_TOKEN)
    or `beside`, which is the service of the other working tree at the path `tree`."""
    if name == "floor":
        return Gunicorn(
            "benchmarks.floor.wsgi", servers.FOLDER, "benchmarks/floor/gunicorn_conf.py"
        )
    if name == "metrics":
        return Gunicorn("config.wsgi", servers.FOLDER, METRICS_TOKEN="a token for the scraper")
    if name == "beside":
        return Gunicorn("config.wsgi", servers.FOLDER, tree=tree)
    url = servers.POSTGRES.url("filled") if name == "filled" else os.environ["DATABASE_URL"]
    return Gunicorn("config.wsgi", servers.FOLDER, DATABASE_URL=url)


def process_tree(pid: int) -> list[psutil.Process]:
    master = psutil.Process(pid)
    return [master, *master.children(recursive=True)]


def cpu_seconds(pid: int) -> float:
    """Seconds of CPU, user and system, that a process and its children have used so far.

    Of the kernel's own accounting, which a busy neighbour does not change.
    """
    return sum(sum(process.cpu_times()[:2]) for process in process_tree(pid))


class Gunicorn:
    """`gunicorn <application>` as its configuration says, with `PROCESSES` workers."""

    def __init__(
        self,
        application: str,
        folder: Path,
        configuration: str = "gunicorn.conf.py",
        tree: str = ".",
        **environment: str,
    ) -> None:
        self.port = servers.free_port()
        with (folder / f"{application}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "-c", configuration, application],
                env=os.environ | {"PORT": str(self.port)} | environment,
                stdout=log,
                stderr=log,
                cwd=tree,
            )
        servers.wait_for_port(self.port)

    def tree(self) -> list[psutil.Process]:
        return process_tree(self.process.pid)

    def cpu(self) -> float:
        return cpu_seconds(self.process.pid)

    def memory(self) -> int:
        """Bytes that belong to the workers alone (USS)."""
        return sum(process.memory_full_info().uss for process in self.tree()[1:])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)


def version_of(tree: Path) -> str:
    """The version of the service in a working tree."""
    project = tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["version"])


def machine() -> dict[str, Any]:
    """What the figures depend on besides the service."""
    path = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", path.read_text("utf-8")) if path.exists() else []
    packages = ("django", "djangorestframework", "gunicorn", "psycopg", "redis", "argon2-cffi")
    return {
        "processor": next(iter(models), platform.processor()),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.system(),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in packages},
    }


def noise(before: Any, after: Any) -> dict[str, float]:
    """How busy the machine was with others between two `psutil.cpu_times()`."""
    total = sum(after) - sum(before)
    return {
        "steal_percent": round(100 * (after.steal - before.steal) / total, 1),
        "idle_percent": round(100 * (after.idle - before.idle) / total, 1),
        "load_average": round(psutil.getloadavg()[0], 1),
    }
