"""The README's walk works to the letter."""

import os
import re
import subprocess
from pathlib import Path

from tests.config.test_run import Run
from tests.servers import free_port


def blocks() -> list[str]:
    text = Path("README.md").read_text(encoding="utf-8")
    return re.findall(r"```sh\n(.*?)```", text, re.DOTALL)


def test_walk(tmp_path: Path) -> None:
    run = Run(tmp_path, free_port())
    environment = {"PATH": os.environ["PATH"]}

    def shell(script: str) -> str:
        command = ["bash", "-euo", "pipefail", "-c", script]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    try:
        script = "".join(blocks()).replace("http://127.0.0.1:8000", run.url)
        signup, rest = script.split("TOKEN=paste-it-here\n")
        assert "on its way" in shell(signup)
        token = run.wait_for(r"#token=([\w-]{64})")[1]
        output = shell(f"{signup}TOKEN={token}\n{rest}")
    finally:
        run.process.terminate()
        run.process.wait(20)

    assert output.count('"email":"ada@example.com"') == 3  # completion, who-am-I, refresh
    assert "HTTP/1.1 204 No Content" in output
    assert output.rstrip().endswith('{"error":"invalid or expired refresh token"}')


def test_settings_table_names_every_variable_that_is_read() -> None:
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', Path("config/settings.py").read_text()))
    told = set(re.findall(r"^\| `([A-Z_]+)`", Path("README.md").read_text(), re.MULTILINE))

    assert read == told
