"""The commands of the operators' pages, and the shells that they are typed into."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from tests import servers
from tests.cast import PASSWORD
from tests.config.helpers import PRODUCTION

OPERATOR = {"DJANGO_SUPERUSER_EMAIL": "op@example.com", "DJANGO_SUPERUSER_PASSWORD": PASSWORD}


def block(page, heading):
    """The first block of shell commands after this heading, or other text, of a page in docs/."""
    text = Path(f"docs/{page}.md").read_text(encoding="utf-8")
    assert text.count(heading) == 1, heading
    match = re.search(
        r"^ *```sh\n(.*?)^ *```", text.partition(heading)[2], re.DOTALL | re.MULTILINE
    )
    return textwrap.dedent(match[1])


class Shells:
    """An installation in a folder, its database, and the shells of its operators."""

    def __init__(self, server, folder, database="consulting"):
        self.server, self.folder, self.database = server, folder, database
        self.owner = self.url("consulting")
        self.service = self.url("consulting_service")
        self.postgres = self.url("postgres")
        self.local = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "postgres"}

    def url(self, role):
        return f"postgres://{role}:secret@127.0.0.1:{self.server.port}/{self.database}"

    def run(self, script, check=True, keyboard_input="", **environment):
        """Run commands of the guide. They read `keyboard_input` as from a person."""
        script = script.replace("/var/lib/consulting", str(self.folder))
        script = re.sub(r"(?<![\w/])var/", f"{self.folder}/", script)
        script = script.replace(".venv/bin/python", sys.executable)
        process_environment = {
            "PATH": f"{self.server.programs}:{os.environ['PATH']}",
            "DATA_DIR": str(self.folder),
            **environment,
        }
        command = ["bash", "-euc", script]
        done = subprocess.run(
            command,
            env=process_environment,
            input=keyboard_input,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,  # or programs would ask the terminal for passwords
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def as_postgres(self, script):
        for line in script.splitlines():
            self.run(line, keyboard_input="secret\nsecret\n", **self.local)

    def as_operator(self, script, check=True, **environment):
        """Run commands with production's environment, and type the owner's password."""
        defaults = PRODUCTION | {"DATABASE_URL": self.service, "REDIS_URL": servers.REDIS.url}
        return self.run(script, check, "secret\n", OWNER_URL=self.owner, **defaults | environment)

    def manage(self, arguments, check=True, **environment):
        return self.as_operator(f".venv/bin/python manage.py {arguments}", check, **environment)

    def can_rewrite_audit_log(self, **environment):
        """Whether `check --deploy` warns that the service's role can change the audit log."""
        return "backoffice.W001" in self.manage("check --deploy", **environment).stderr
