"""The README's walk works to the letter."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.config.helpers import Run
from tests.servers import free_port

pytestmark = pytest.mark.live


def blocks():
    text = Path("README.md").read_text(encoding="utf-8")
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


def test_walk_of_the_readme_works(tmp_path):
    port = free_port()
    run = Run(tmp_path, port)
    environment = {"PATH": os.environ["PATH"], "PORT": str(port)}

    def shell(script):
        """What a part of the walk prints; the next part finds its variables."""
        kept = f"touch kept; . ./kept\n{script}\ndeclare -p API JSON ACCESS > kept 2>&- || true"
        command = ["bash", "-euo", "pipefail", "-c", kept]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    signup, middle, rest = re.split(r"(?:TOKEN|INVITED)=paste-it-here\n", "".join(blocks()))
    try:
        run.wait_for(rf"http://127\.0\.0\.1:{port}")
        assert "on its way" in shell(signup)
        token = run.wait_for(r"complete-signup#token=([\w-]{64})")[1]
        output = shell(f"TOKEN={token}\n{middle}")
        invited = run.wait_for(r"accept-invitation#token=([\w-]{64})")[1]
        output += shell(f"INVITED={invited}\n{rest}")
    finally:
        run.process.terminate()
        run.process.wait(20)

    # completion, who-am-I, the list of users and refresh
    assert output.count('"email":"ada@example.com"') == 4
    assert "HTTP/1.1 204 No Content" in output
    assert output.rstrip().endswith('{"error":"invalid or expired refresh token"}')
