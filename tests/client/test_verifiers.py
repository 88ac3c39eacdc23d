"""verifiers/verify.py and verify.mjs in services of four frameworks, as the guide shows them."""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.client.conftest import FOLDER
from tests.client.helpers import interpreter
from tests.requests import ask
from tests.servers import free_port, wait_for_port, wait_until

pytestmark = pytest.mark.client

MADE = FOLDER / "made/verifiers"
PYTHON_PACKAGES = [
    "djangorestframework==3.18.3",
    "fastapi==0.165.0",
    "gunicorn==27.0.1",
    "pyjwt[crypto]==2.15.1",
    "uvicorn==0.54.0",
]
GUIDE = Path("docs/verifying-tokens.md").read_text(encoding="utf-8")
SAMPLES = re.findall(r"```(python|js)\n(?:#|//) ([^\n]+)\n(.*?)```", GUIDE, re.DOTALL)
DJANGO = """
import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import path
apps = ["django.contrib.contenttypes", "django.contrib.auth", "rest_framework"]
settings.configure(ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SECRET_KEY="x", INSTALLED_APPS=apps)
django.setup()
{sample}
urlpatterns = [path("orders", OrdersView.as_view())]
application = get_wsgi_application()
"""
# By framework: the program around the guide's sample, and the command that serves it.
PROGRAMS = {
    "Django REST framework": (DJANGO, "-m gunicorn --threads 32 -b 127.0.0.1:{port} {module}"),
    "FastAPI": ("{sample}", "-m uvicorn --log-level warning --port {port} {module}:app"),
    "Express": ("{sample}app.listen(process.argv[2]);", "{module}.mjs {port}"),
    "Hono": (
        'import { serve } from "@hono/node-server";\n'
        "{sample}serve({ fetch: app.fetch, port: Number(process.argv[2]) });",
        "{module}.mjs {port}",
    ),
}
# A line of input is the tokens to verify at the same time, or the seconds to put the clock on by.
# The argument is the interval of reads in the background, in seconds.
LINES = {
    "python": """
import json, re, sys, time
from concurrent.futures import ThreadPoolExecutor
import verify
verify.REFRESH = float(sys.argv[1])
begun, shift = time.monotonic, 0
time.monotonic = lambda: begun() + shift
def answer(token):
    try:
        return verify.verify(token)["token_type"]
    except verify.jwt.InvalidTokenError:
        return "invalid"
    except KeyError:
        return "no keys"
for line in sys.stdin:
    value = json.loads(line)
    if type(value) is int:
        shift += value
    else:
        print(json.dumps(list(ThreadPoolExecutor(100).map(answer, value))), flush=True)
""",
    "js": """
import readline from "node:readline";
import { errors } from "jose";
import { verify } from "./verify.mjs";
const begun = performance.now.bind(performance);
let shift = 0;
performance.now = () => begun() + 1000 * shift;
const wait = setTimeout;
const refresh = 1000 * process.argv[2];
globalThis.setTimeout = (work, time) => wait(work, time === 300_000 ? refresh : time);
const answer = (token) =>
  verify(token).then(
    (claims) => claims.token_type,
    (error) => (error instanceof errors.JOSEError ? "invalid" : "no keys"),
  );
for await (const line of readline.createInterface({ input: process.stdin })) {
  const value = JSON.parse(line);
  if (Array.isArray(value)) console.log(JSON.stringify(await Promise.all(value.map(answer))));
  else shift += value;
}
""",
}


class KeySet(BaseHTTPRequestHandler):
    """Passes the service's key set on, counts that, and fails when told to."""

    def do_GET(self):
        self.server.reads += 1
        if self.server.fails:
            self.send_error(503)
            return
        time.sleep(0.2)  # long enough for callers to meet
        answer = ask(self.server.service.url, "GET", self.path)
        self.send_response(answer.status)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def service(new_shared_service):
    limits = {"RATE_LIMIT_CREDENTIAL": "10000", "RATE_LIMIT_PUBLIC": "10000"}
    return new_shared_service(**limits).add_operator().start()


@pytest.fixture
def keys(service):
    """What a verifier takes for the service: `reads` counts how often its keys were read."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), KeySet)
    server.service, server.reads, server.fails = service, 0, False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def python():
    """An interpreter that has what the files need; they lie beside the services' code."""
    MADE.mkdir(parents=True, exist_ok=True)
    for name in ("verify.py", "verify.mjs"):
        shutil.copy(Path("verifiers") / name, MADE)
    return interpreter("verifiers", PYTHON_PACKAGES)


def environment(keys):
    here = {"AUTH_URL": f"http://127.0.0.1:{keys.server_port}", "PYTHONPATH": str(MADE)}
    settings = ("DJANGO_SETTINGS_MODULE", "GUNICORN_CMD_ARGS")
    return {name: value for name, value in os.environ.items() if name not in settings} | here


class Lines:
    """A program that verifies tokens; call it with those that come at the same time."""

    def __init__(self, process):
        self.process = process

    def say(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def __call__(self, *tokens):
        self.say(tokens)
        return json.loads(self.process.stdout.readline())


@pytest.fixture(params=LINES)
def new_verifier(request, python, keys):
    """Starts a verifier that reads the keys at an interval, in seconds."""
    suffix, program = {"python": ("py", python), "js": ("mjs", "node")}[request.param]
    script = MADE / f"lines.{suffix}"
    script.write_text(LINES[request.param], encoding="utf-8")
    with contextlib.ExitStack() as started:

        def start(refresh=300):
            command = [program, str(script), str(refresh)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            process = subprocess.Popen(command, cwd=MADE, env=environment(keys), **pipes)
            started.enter_context(process)
            started.callback(process.terminate)
            return Lines(process)

        yield start


def pair(service):
    """An access and a refresh token."""
    person = {"email": "ada@example.com", "password": "correct horse battery"}
    answer = ask(service.url, "POST", "/auth/login", person).json()
    return answer["access_token"], answer["refresh_token"]


@pytest.fixture(scope="module")
def tokens(service):
    return pair(service)


FOREIGN = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def unknown(count):
    """Tokens of keys that nobody has published."""
    return [jwt.encode({}, FOREIGN, "RS256", headers={"kid": f"k{n}"}) for n in range(count)]


PRIVATE = (
    "from keys.cache import signing_keys; signing_keys.refresh();"
    "from cryptography.hazmat.primitives.serialization import *;"
    "print(signing_keys.signer.private.private_bytes("
    "Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())"
)


class Forger:
    """Who knows the service's key, or only what is public."""

    def __init__(self, service, access, refresh):
        pem = service.manage("shell", "--no-imports", "-c", PRIVATE)
        self.key = serialization.load_pem_private_key(pem.encode(), None)
        self.access, self.refresh = access, refresh
        self.kid = jwt.get_unverified_header(access)["kid"]
        self.payload = jwt.decode(access, options={"verify_signature": False})

    def sign(self, key=None, algorithm="RS256", kid=..., headers=None, **changes):
        claims = {name: value for name, value in (self.payload | changes).items() if value != ...}
        key = self.key if key is None else key
        kid = self.kid if kid is ... else kid
        return jwt.encode(claims, key, algorithm, {"kid": kid} | (headers or {}))

    def mac(self, secret):
        """By HS256, with a secret that everybody knows: the key confusion."""
        head = {"alg": "HS256", "typ": "JWT", "kid": self.kid}
        signed = b".".join(encode(json.dumps(part).encode()) for part in (head, self.payload))
        mac = hmac.digest(secret, signed, hashlib.sha256)
        return b".".join([signed, encode(mac)]).decode()

    def public(self, encoding, form):
        return self.key.public_key().public_bytes(encoding, form)


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


PEM, DER = serialization.Encoding.PEM, serialization.Encoding.DER
SPKI, PKCS1 = serialization.PublicFormat.SubjectPublicKeyInfo, serialization.PublicFormat.PKCS1
JWK = jwt.algorithms.RSAAlgorithm.to_jwk(FOREIGN.public_key(), as_dict=True)
HOUR = 3600
FORGED = {
    "other issuer": lambda by: by.sign(iss="https://elsewhere.example"),
    "no issuer": lambda by: by.sign(iss=...),
    "expired": lambda by: by.sign(exp=int(time.time()) - 30),
    "expiry as text": lambda by: by.sign(exp="tomorrow"),
    "no expiry": lambda by: by.sign(exp=...),
    "not valid yet": lambda by: by.sign(nbf=int(time.time()) + HOUR),
    "other audience": lambda by: by.sign(aud="another service"),
    "audiences": lambda by: by.sign(aud=["another service"]),
    "empty audience": lambda by: by.sign(aud=""),
    "no audiences": lambda by: by.sign(aud=[]),
    "refresh token": lambda by: by.refresh,
    "refresh token without audience": lambda by: by.sign(token_type="refresh"),
    "no token type": lambda by: by.sign(token_type=...),
    "token types": lambda by: by.sign(token_type=["access"]),
    "unsigned": lambda by: by.sign("", "none"),
    "no signature": lambda by: by.access.rpartition(".")[0] + ".",
    "other content": lambda by: ".".join(
        [*by.access.split(".")[:1], by.sign(role="owner").split(".")[1], by.access.split(".")[2]]
    ),
    "MAC by the public key": lambda by: by.mac(by.public(PEM, SPKI)),
    "MAC by the public key in PKCS #1": lambda by: by.mac(by.public(PEM, PKCS1)),
    "MAC by the public key in DER": lambda by: by.mac(by.public(DER, SPKI)),
    "RS512": lambda by: by.sign(algorithm="RS512"),
    "PS256": lambda by: by.sign(algorithm="PS256"),
    "foreign key under our kid": lambda by: by.sign(FOREIGN),
    "foreign key in the header": lambda by: by.sign(FOREIGN, headers={"jwk": JWK}),
    "unknown kid": lambda by: by.sign(FOREIGN, kid="unknown"),
    "unknown extension": lambda by: by.sign(headers={"crit": ["x"], "x": 1}),
    "no token": lambda by: "x",
}


@pytest.fixture(scope="module")
def forger(service, tokens):
    return Forger(service, *tokens)


@pytest.fixture(scope="module")
def forged(forger):
    return {name: forge(forger) for name, forge in FORGED.items()}


@pytest.fixture(params=PROGRAMS)
def orders(request, python, keys):
    """The guide's service in a framework: what it answers to a token, as (status, body)."""
    ((language, _, sample),) = [one for one in SAMPLES if one[1] == request.param]
    program, command = PROGRAMS[request.param]
    suffix, runtime = {"python": ("py", python), "js": ("mjs", "node")}[language]
    module, port = f"serves_{request.param.split()[0].lower()}", free_port()
    text = program.replace("{sample}", sample)
    (MADE / f"{module}.{suffix}").write_text(text, encoding="utf-8")
    command = [runtime, *command.format(module=module, port=port).split()]
    with subprocess.Popen(command, cwd=MADE, env=environment(keys)) as server:
        try:
            wait_for_port(port, 60)
            yield lambda **headers: ask(f"http://127.0.0.1:{port}", "GET", "/orders", **headers)
        finally:
            server.terminate()


def test_guide_shows_every_framework():
    assert [name for _, name, _ in SAMPLES] == list(PROGRAMS)


def test_framework_takes_access_tokens_and_refuses_27_forged(orders, tokens, forged, keys):
    company = jwt.decode(tokens[0], options={"verify_signature": False})["account_id"]
    for scheme in ("Bearer", "bearer"):
        answer = orders(authorization=f"{scheme} {tokens[0]}")
        assert (answer.status, answer.json()) == (200, {"company": company})

    answers = {name: orders(authorization=f"Bearer {token}") for name, token in forged.items()}
    answers |= {"none": orders(), "other scheme": orders(authorization="Basic YTpi")}

    assert len(forged) == 27
    assert {name: answer.status for name, answer in answers.items() if answer.status != 401} == {}
    assert {answer.headers["WWW-Authenticate"] for answer in answers.values()} == {"Bearer"}
    assert keys.reads == 1


def test_100_callers_with_unknown_keys_at_once_make_one_read(orders, tokens, keys):
    with ThreadPoolExecutor(100) as pool:
        answers = pool.map(lambda token: orders(authorization=f"Bearer {token}"), unknown(100))

    assert {answer.status for answer in answers} == {401}
    assert orders(authorization=f"Bearer {tokens[0]}").status == 200
    assert keys.reads == 1


def test_unknown_keys_make_one_read_a_minute(new_verifier, tokens, keys):
    verifier = new_verifier()
    assert verifier(tokens[0], *unknown(99)) == ["access", *["invalid"] * 99]
    for minutes in (1, 2):
        assert keys.reads == minutes
        verifier.say(61)
        assert verifier(*unknown(100)) == ["invalid"] * 100
        assert verifier(*unknown(100), tokens[0])[-1] == "access"

    assert keys.reads == 3


def test_clocks_may_differ_by_five_seconds(new_verifier, forger):
    now = int(time.time())
    ahead = forger.sign(iat=now + 3, nbf=now + 3, exp=now + HOUR)

    assert new_verifier()(ahead) == ["access"]


def test_new_token_is_accepted_where_the_clock_is_slow(new_verifier, forger):
    """The service that issued it may be ahead of this verifier by more than the five seconds."""
    new = forger.sign(iat=int(time.time()) + 60)

    assert new_verifier()(new) == ["access"]


def test_keys_rotate_without_a_failed_request(new_verifier, service, keys):
    """A new key is read in the background before it signs; no token waits for it."""
    verifier = new_verifier(refresh=0.5)
    access, refresh = pair(service)
    assert verifier(access) == ["access"]
    service.manage("rotatekey", "--delay", "10")  # twenty times the interval, as if by 10 minutes
    kids, answers, deadline = [], [], time.monotonic() + 60
    while len(set(kids)) < 2 or len(kids) < 20:
        assert time.monotonic() < deadline
        body = {"refresh_token": refresh}
        token = ask(service.url, "POST", "/auth/refresh", body).json()["access_token"]
        kids.append(jwt.get_unverified_header(token)["kid"])
        answers += verifier(token, access)
        time.sleep(0.2)

    assert set(answers) == {"access"}


def test_outage_of_the_service_stops_no_verifier_that_has_keys(new_verifier, tokens, keys):
    verifier = new_verifier(refresh=0.5)
    keys.fails = True
    assert verifier(tokens[0]) == ["no keys"]  # no fault of the token
    keys.fails = False
    wait_until(lambda: verifier(tokens[0]) == ["access"], pause=0.5)
    keys.fails, reads = True, keys.reads

    wait_until(lambda: keys.reads > reads + 1)

    assert verifier(tokens[0], *unknown(3)) == ["access", *["invalid"] * 3]
