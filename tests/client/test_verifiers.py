"""The samples of docs/verifying-tokens.md hold for longer than a key, and take no refresh token."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.client.conftest import FOLDER
from tests.requests import ask
from tests.servers import wait_until

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
for await (const line of readline.createInterface({ input: process.stdin })) {
  if (line.startsWith("+")) shift += Number(line);
  else console.log(await verify(line).then(() => "ok", (error) => error.code ?? error.message));
}
"""


def samples():
    """The documentation's samples by the library that they name first: their language and text."""
    text = Path("docs/verifying-tokens.md").read_text(encoding="utf-8")
    found = re.findall(r"```(\w+)\n((?:#|//) (\S+) .*?)```", text, re.DOTALL)
    return {library: (language, sample) for language, sample, library in found}


# Each that runs here, and what it says of a kid that is not published.
RUN = {
    "PyJWT": "PyJWKClientError",
    "joserfc": "InvalidKeyIdError",
    "jose": "ERR_JWKS_NO_MATCHING_KEY",
}


@dataclass
class Verifier:
    """Another service, that has the sample in it; `refuses` is what it says of an unknown kid."""

    process: subprocess.Popen[str]
    refuses: str

    def __call__(self, *lines):
        """What it says of these tokens."""
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()
        return [self.process.stdout.readline().strip() for line in lines if line[0] != "+"]


@pytest.fixture
def service(new_service):
    return new_service(RATE_LIMIT_PUBLIC="100").add_operator().start()  # far fewer than tokens


@pytest.fixture(params=RUN)
def verifier(request, service):
    language, sample = samples()[request.param]
    where = service.url, "consulting-management"
    if language == "python":
        command = [sys.executable, "-c", PYTHON.replace("{sample}", sample), *where]
    else:
        script = FOLDER / "made/verify.mjs"
        script.parent.mkdir(exist_ok=True)
        script.write_text(JAVASCRIPT.replace("{sample}", sample), encoding="utf-8")
        command = ["node", str(script), *where]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=FOLDER, stdin=pipe, stdout=pipe, text=True) as process:
        yield Verifier(process, RUN[request.param])
        process.stdin.close()


ISSUE = (
    "from accounts import tokens; from accounts.models import User;"
    "from keys.cache import signing_keys;"
    "signing_keys.refresh(); u = User.objects.get();"
    "print(*[token for _ in range({}) for token in map(str, tokens.issue_pair(u))], sep='\\n')"
)


def pairs(service, count):
    """New access tokens, and new refresh tokens, by the key of now."""
    issued = service.manage("shell", "--no-imports", "-c", ISSUE.format(count)).split()
    return issued[::2], issued[1::2]


CHANGE = (
    "import time; from accounts import tokens; from accounts.models import User;"
    "from keys.cache import signing_keys; signing_keys.refresh(); now = time.time();"
    "made = [(tokens.issue_pair(User.objects.get())[0], claims) for claims in {}];"
    "[token.payload.update((name, int(now) + value if type(value) is int else value)"
    " for name, value in claims.items()) for token, claims in made];"
    "print(*[token for token, _ in made], sep='\\n')"
)


def changed(service, claims):
    """New access tokens with other claims; numbers are seconds from now."""
    return service.manage("shell", "--no-imports", "-c", CHANGE.format(claims)).split()


def wait_until_published(service, access):
    headers = {"authorization": f"Bearer {access}"}
    wait_until(lambda: ask(service.url, "GET", "/auth/me", **headers).status == 200)


def test_sample_holds_over_two_rotations_and_500_tokens(service, verifier):
    said = []
    for rotation in range(3):
        if rotation:
            service.manage("rotatekey", "--now")
        access, refresh = pairs(service, 167)
        wait_until_published(service, access[0])
        said += verifier("+61", *access)
        assert verifier(*refresh[:3]) == [verifier.refuses] * 3

    assert said == ["ok"] * 501


def test_sample_fetches_for_unknown_keys_once_a_minute(service, verifier):
    access, unknown = pairs(service, 30)

    assert verifier(access[0], *unknown, access[1]) == ["ok", *[verifier.refuses] * 30, "ok"]
    verifier("+61", *unknown)
    service.stop()  # it logs in the background
    assert service.log.count("path=/.well-known/jwks.json") == 2


def test_sample_allows_five_seconds_and_takes_access_tokens_alone(service, verifier):
    good = [{"exp": 0}, {"iat": 3}]  # the first has ended, by less than 5 s
    bad = [{"exp": -30}, {"aud": "somebody else"}, {"token_type": "refresh"}]
    tokens = changed(service, good + bad)

    said = verifier(*tokens)

    assert [one == "ok" for one in said] == [True, True, False, False, False], said


def test_sample_refuses_a_foreign_issuer_s_tokens(service, verifier):
    """Another's name under our key, and our name under another's key that calls itself ours."""
    access, _ = pairs(service, 1)
    service.environment["JWT_ISSUER"] = "https://elsewhere.example"
    named, _ = pairs(service, 1)
    theirs = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    claims = jwt.decode(access[0], options={"verify_signature": False})
    kid = {"kid": jwt.get_unverified_header(access[0])["kid"]}
    forged = jwt.encode(claims, theirs, algorithm="RS256", headers=kid)

    said = verifier(*access, *named, forged, *access)

    assert [one == "ok" for one in said] == [True, False, False, True], said


def test_every_sample_is_run():
    assert list(samples()) == list(RUN)
