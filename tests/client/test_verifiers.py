"""The samples of docs/integrating.md hold for longer than a key, and take no refresh token."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.client.test_client import FOLDER
from tests.conftest import PASSWORD, Service
from tests.requests import ask

pytestmark = pytest.mark.client

# Each answers a line of its input with "ok" or why not; "+60" puts its clock on by so much.
PYTHON = """
import sys, time
API, ISSUER = sys.argv[1:]
{sample}
begun, shift = time.monotonic, 0
time.monotonic = lambda: begun() + shift
for line in sys.stdin:
    if line.startswith("+"):
        shift += int(line)
        continue
    try:
        verify(line.strip())
        print("ok", flush=True)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""
JAVASCRIPT = """
import readline from "node:readline";
const [API, ISSUER] = process.argv.slice(2);
{sample}
let shift = 0;
const now = Date.now;
Date.now = () => now() + 1000 * shift;
for await (const line of readline.createInterface({{ input: process.stdin }})) {{
  if (line.startsWith("+")) shift += Number(line);
  else console.log(await verify(line).then(() => "ok", (error) => error.code ?? error.message));
}}
"""


def sample(language: str) -> str:
    text = Path("docs/integrating.md").read_text(encoding="utf-8").partition("## Verifying")[2]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)[0]


@dataclass
class Verifier:
    """Another service, that has the sample in it; `refuses` is what it says of an unknown kid."""

    process: subprocess.Popen[str]
    refuses: str

    def __call__(self, *lines: str) -> list[str]:
        """What it says of these tokens."""
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()
        return [self.process.stdout.readline().strip() for line in lines if line[0] != "+"]


@pytest.fixture
def service(new_service: Callable[..., Service]) -> Service:
    service = new_service(RATE_LIMIT_PUBLIC="100")  # far fewer than tokens
    person = {"DJANGO_SUPERUSER_EMAIL": "ada@example.com", "DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    service.environment |= person
    service.manage("createsuperuser", "--noinput")
    return service.start()


@pytest.fixture(params=["python", "js"])
def verifier(request: Any, service: Service) -> Iterator[Verifier]:
    where = service.url, "consulting-management"
    if request.param == "python":
        command = [sys.executable, "-c", PYTHON.format(sample=sample("python")), *where]
        refuses = "PyJWKClientError"
    else:
        script = FOLDER / "made/verify.mjs"
        script.parent.mkdir(exist_ok=True)
        script.write_text(JAVASCRIPT.format(sample=sample("js")), encoding="utf-8")
        command = ["node", str(script), *where]
        refuses = "ERR_JWKS_NO_MATCHING_KEY"
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=FOLDER, stdin=pipe, stdout=pipe, text=True) as process:
        yield Verifier(process, refuses)
        process.stdin.close()


ISSUE = (
    "from accounts import tokens; from accounts.models import User; u = User.objects.get();"
    "print(*[token for _ in range({}) for token in map(str, tokens.issue(u))], sep='\\n')"
)


def pairs(service: Service, count: int) -> tuple[list[str], list[str]]:
    """New access tokens, and new refresh tokens, by the key of now."""
    issued = service.manage("shell", "--no-imports", "-c", ISSUE.format(count)).split()
    return issued[::2], issued[1::2]


def wait_until_published(service: Service, access: str) -> None:
    """A process looks at its folder of keys every two seconds."""
    headers = {"authorization": f"Bearer {access}"}
    for _ in range(50):
        if ask(service.url, "GET", "/auth/me", **headers).status == 200:
            return
        time.sleep(0.3)
    raise AssertionError("the new key is not known")


def test_sample_holds_over_two_rotations_and_500_tokens(
    service: Service, verifier: Verifier
) -> None:
    said = []
    for rotation in range(3):
        if rotation:
            service.manage("rotatekeys", "--delay", "0")
        access, refresh = pairs(service, 167)
        wait_until_published(service, access[0])
        said += verifier("+61", *access)
        assert verifier(*refresh[:3]) == [verifier.refuses] * 3

    assert said == ["ok"] * 501
