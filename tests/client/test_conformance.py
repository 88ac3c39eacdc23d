"""The protocol's own conformance suite: what applies of it, and why the rest does not."""

import http.client
import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.client.conftest import FOLDER
from tests.servers import free_port
from tests.services import Service

pytestmark = pytest.mark.client

HERE = FOLDER / "mcp"
# The suite wants a newer Node than Debian's: npm's own.
SUITE = [
    "node_modules/node/bin/node",
    "node_modules/@modelcontextprotocol/conformance/dist/index.js",
]
APPLY = {
    "2026-07-28": "server-stateless tools-list server-sse-multiple-streams"
    " sep-2164-resource-not-found dns-rebinding-protection caching http-header-validation"
    " input-required-result-unsupported-methods",
    "2025-11-25": "server-initialize ping tools-list server-session-lifecycle"
    " dns-rebinding-protection",
}
# Scenarios by their beginnings.
DO_NOT_APPLY = {
    "tools-call-": "calls the tools of the suite's own reference server",
    "json-schema-2020-12": "looks at a tool of the suite's own reference server",
    "http-custom-header-": "calls a tool of the suite's own reference server",
    "input-required-": "calls tools of the suite's own that ask the client back; ours ask nothing",
    "server-sse-polling": "there is no event stream to poll",
    "completion-": "we declare no completions",
    "logging-": "we declare no logging",
    "elicitation-": "we declare nothing that asks the client back",
    "resources-": "we declare no resources",
    "prompts-": "we declare no prompts",
    "tasks-": "an extension that we do not declare",
    "sep-2640-": "an extension that we do not declare",
}
# Checks within the scenarios that apply.
NOT_OURS = {
    "sep-2549-prompts-list-caching-hints": "we declare no prompts",
    "sep-2549-resources-list-caching-hints": "we declare no resources",
    "sep-2549-resources-templates-list-caching-hints": "we declare no resources",
    "sep-2575-server-rejects-undeclared-capability": "needs a tool of the suite's own server",
    "sep-2575-missing-capability-http-400": "needs a tool of the suite's own server",
    "sep-2575-http-server-no-independent-requests-on-stream": "needs a tool of the suite's own",
    "sep-2575-server-no-log-without-loglevel": "needs a tool of the suite's own server",
}


class Bearer(BaseHTTPRequestHandler):
    """Passes all on with a token, since the suite has no way to bring one."""

    service: Service
    bearer: dict[str, str]
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kept = {name: value for name, value in self.headers.items() if name != "Connection"}
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port)
        connection.request(self.command, self.path, body, kept | self.bearer)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"connection", "date", "server", "transfer-encoding"}:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_DELETE = do_POST  # noqa: N815

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def port():
    return free_port()


@pytest.fixture
def service(new_service, port):
    origins = f"http://127.0.0.1:{port},http://localhost:{port}"
    return new_service(CORS_ALLOWED_ORIGINS=origins).add_operator().start()


@pytest.fixture
def proxy(service, port):
    handler = type("WithToken", (Bearer,), {"service": service, "bearer": service.bearer()})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{port}/mcp"
    server.shutdown()
    server.server_close()


def suite(*words):
    done = subprocess.run([*SUITE, *words], cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout


def failures(folder):
    """The checks that have failed, of those that are about us."""
    reports = list(folder.rglob("checks.json"))
    assert reports
    checks = [check for report in reports for check in json.loads(report.read_text())]
    assert any(check["status"] == "SUCCESS" for check in checks)
    failed = [check for check in checks if check["status"] == "FAILURE"]
    return [
        f"{check['id']}: {check.get('errorMessage')}"
        for check in failed
        if check["id"] not in NOT_OURS
    ]


@pytest.mark.parametrize("revision", APPLY)
def test_service_conforms(proxy, tmp_path, revision):
    found = []
    for scenario in APPLY[revision].split():
        folder = tmp_path / scenario
        options = ["--scenario", scenario, "--spec-version", revision, "-o", str(folder)]
        suite("server", "--url", proxy, *options)
        if scenario != "server-session-lifecycle":  # whose checks are notes: we have no sessions
            found += failures(folder)

    assert found == []


def test_authorization_server_conforms(service, tmp_path):
    suite("authorization", "--url", service.url, "-o", str(tmp_path))

    assert failures(tmp_path) == []


def test_every_scenario_applies_or_is_known_not_to():
    listed = suite("list").partition("Client scenarios")[0]
    scenarios = re.findall(r"^  - (\S+)", listed, re.MULTILINE)
    applied = {scenario for chosen in APPLY.values() for scenario in chosen.split()}

    unknown = [
        one for one in scenarios if one not in applied and not one.startswith(tuple(DO_NOT_APPLY))
    ]
    assert len(scenarios) > 60
    assert unknown == []
