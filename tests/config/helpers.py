"""What several tests of config share."""

import os
import re
import subprocess
import sys
import time

import psutil

from tests.servers import wait_for_port


class Run:
    """`make run`'s program with an environment that names only a folder and a port."""

    def __init__(self, folder, port, **settings):
        self.log_path, self.url = folder / "log", f"http://127.0.0.1:{port}"
        environment = {"PATH": os.environ["PATH"], "PORT": str(port), "DATA_DIR": str(folder)}
        environment |= settings
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "config.run"],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for_port(port)

    @property
    def log(self):
        return self.log_path.read_text()

    def children(self):
        return psutil.Process(self.process.pid).children(recursive=True)

    def wait_for(self, pattern):
        deadline = time.monotonic() + 60
        while not (match := re.search(pattern, self.log)):
            assert time.monotonic() < deadline, self.log
            time.sleep(0.05)
        return match


PRODUCTION = {
    "SECRET_KEY": "a-secret-of-fifty-characters-that-all-the-hosts-share",
    "DATABASE_URL": "postgres://consulting:password@db.consulting.test/consulting",
    "LIMITER_PROCESSES": "2",
    "REDIS_URL": "redis://redis.consulting.test/0",
    "EMAIL_URL": "smtp+tls://user:password@mail.consulting.test:587",
    "FRONTEND_URL": "https://app.consulting.test",
    "CORS_ALLOWED_ORIGINS": "https://app.consulting.test",
    "SERVICE_URL": "https://api.consulting.test",
    "JWT_ISSUER": "https://api.consulting.test",
    "ALLOWED_HOSTS": "api.consulting.test",
    "TRUSTED_PROXY_COUNT": "1",
    "WEB_CONCURRENCY": "2",
    "STAFF_SECOND_FACTOR": "true",
    "PASSWORD_REJECT_COMMON": "true",
}


UNLIMITED = {f"RATE_LIMIT_{tier}": "1000000" for tier in ("AUTHENTICATED", "PUBLIC", "CREDENTIAL")}
