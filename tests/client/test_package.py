"""The npm package of the client, always as it was packed and installed from its tarball."""

import contextlib
import os
import subprocess
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Site
from tests.cast import PASSWORD
from tests.client.conftest import FOLDER, run
from tests.servers import free_port, wait_for_port

pytestmark = pytest.mark.client

INSTALLED = FOLDER / "installed"
MAX_BYTES = 4608  # 4.5 KB: the client and its React entry, minified and compressed


@pytest.fixture(scope="session")
def tarball():
    (file,) = (FOLDER / "../../dist").resolve().glob("*.tgz")
    return str(file)


@pytest.mark.parametrize("check", ["publint run --strict", "attw --profile esm-only"])
def test_tarball_has_no_fault_that_checkers_of_packages_find(tarball, check):
    assert run("npx", *check.split(), tarball) == ""


def test_package_has_the_service_s_version_and_a_readme_without_dead_links():
    program = """
        const { default: { version } } = await import("consulting-management-client/package.json", { with: { type: "json" } });
        const { readFileSync } = await import("node:fs");
        const read = (path) => readFileSync(path, "utf8");
        const folder = "../node_modules/consulting-management-client";
        const links = [...read(`${folder}/README.md`).matchAll(/]\\((?!https?:|#)/g)];
        const log = read(`${folder}/CHANGELOG.md`);
        if (!read("../../../pyproject.toml").includes(`version = "${version}"`)) throw version;
        if (links.length || !log.includes(`## ${version}`)) throw links;
    """  # noqa: E501
    assert run("node", "--input-type=module", "-e", program, folder="installed") == ""


def test_client_is_small():
    command = "npx esbuild node_modules/consulting-management-client/react.js --bundle --minify"
    script = subprocess.run(
        [*command.split(), "--format=esm", "--external:react"],
        cwd=FOLDER,
        capture_output=True,
        check=True,
    ).stdout
    compressed = subprocess.run(["gzip", "-9"], input=script, capture_output=True, check=True)

    assert b"BroadcastChannel" in script
    assert len(compressed.stdout) <= MAX_BYTES


@pytest.mark.parametrize("options", ["", "{ baseUrl: 'http://api.test' }"])
def test_node_imports_makes_a_client_and_exits(options):
    program = f"""
        import {{ Client }} from "consulting-management-client";
        import "consulting-management-client/react";
        import "consulting-management-client/schema";
        const client = new Client({options});
        client.addEventListener("change", () => {{}});
        if (client.user !== null || client.lastRole !== null) throw client;
    """
    # An open channel would keep it for ever.
    command = ["node", "--input-type=module", "-e", program]
    assert subprocess.run(command, cwd=INSTALLED, timeout=5, check=False).returncode == 0


@pytest.mark.parametrize(("module", "resolution"), [("node16", "node16"), ("esnext", "bundler")])
def test_types_know_paths_methods_and_bodies(module, resolution):
    options = ["--module", module, "--moduleResolution", resolution]
    assert run("npx", "tsc", "-p", "installed", *options) == ""


def test_client_works_without_a_dom():
    assert run("npx", "vitest", "run", "--root", "installed") == ""


def test_vite_renders_on_a_server():
    build = "npx vite build installed/vite --logLevel warn --ssr server.jsx"
    assert run(*build.split(), "--outDir", "../../made/vite-server") == ""
    command = ["node", "made/vite-server/server.js"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=True)

    assert done.stdout == "<p>One moment</p>\n"  # who is signed in is known in the browser alone


@contextlib.contextmanager
def running(*command, port, **environment):
    """A server of a front-end, until the test is over."""
    env = os.environ | {"NEXT_TELEMETRY_DISABLED": "1"} | environment
    with subprocess.Popen(command, cwd=FOLDER, env=env, stdout=subprocess.DEVNULL) as server:
        try:
            wait_for_port(port, 60)
            yield
        finally:
            server.terminate()


@contextlib.contextmanager
def vite(origin, api):
    """React's development build, in which StrictMode mounts everything twice."""
    build = "npx vite build installed/vite --mode development --logLevel warn"
    env = os.environ | {"NODE_ENV": "development"}
    subprocess.run([*build.split(), "--outDir", "../../made/vite"], cwd=FOLDER, env=env, check=True)
    port = urlsplit(origin).port
    command = f"node node_modules/vite/bin/vite.js preview installed/vite --port {port}"
    serve = [*command.split(), "--strictPort", "--host", "0.0.0.0", "--outDir", "../../made/vite"]
    with running(*serve, port=port):
        yield f"{origin}/?{urlencode({'api': api})}"


@contextlib.contextmanager
def next_js(origin, api):
    """Built, and run with the service's address in its environment."""
    program, port = "node_modules/next/dist/bin/next", urlsplit(origin).port
    assert run("env", "NEXT_TELEMETRY_DISABLED=1", "node", program, "build", "installed/next") == ""
    command = ["node", program, "start", "installed/next", "-p", str(port)]
    with running(*command, port=port, API=api):
        yield origin


KINDS = {"vite": vite, "next": next_js}


@pytest.fixture(scope="module")
def origins():
    return {kind: f"http://127.0.0.1:{free_port()}" for kind in KINDS}


@pytest.fixture(scope="module")
def service(new_shared_service, origins):
    allowed = ",".join(origins.values())
    service = new_shared_service(CORS_ALLOWED_ORIGINS=allowed, RATE_LIMIT_CREDENTIAL="1000")
    return service.add_operator().start()


@pytest.fixture
def site(service, browser):
    site = Site(service, browser)
    yield site
    for context in site.contexts:
        context.close()


def sign_in(page):
    page.get_by_label("E-mail address").fill("ada@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def walk(site, address):
    """Sign in, reload, open a second tab, sign out of both."""
    page = site.tab(address)
    sign_in(page)
    signed_in = "Signed in as ada@example.com"
    page.get_by_text(signed_in).wait_for()
    page.reload()
    page.get_by_text(signed_in).wait_for()
    other = page.context.new_page()
    other.goto(address)
    other.get_by_text(signed_in).wait_for()

    other.get_by_role("button", name="Sign out").click()

    page.get_by_role("button", name="Sign in").wait_for()
    assert [cookie["name"] for cookie in page.context.cookies()] == ["service_browser"]
    page.reload()
    page.get_by_role("button", name="Sign in").wait_for()


def test_react_signs_in_and_out_in_all_tabs_and_says_why_a_call_is_refused(site, origins):
    origin = origins["vite"]
    with vite(origin, site.service.url) as address:
        walk(site, address)
        for host in ("localhost", "127.0.0.2"):
            page = site.tab(address.replace("127.0.0.1", host, 1))
            sign_in(page)
            hint = "different sites" if host == "localhost" else f"no calls from http://{host}"
            expect(page.get_by_role("status")).to_contain_text(hint)


def test_next_js_renders_nobody_and_signs_in_in_the_browser(site, origins):
    with next_js(origins["next"], site.service.url) as address:
        walk(site, address)
        rendered = site.person().request.get(address).text()

    assert "The server knows <!-- -->null" in rendered
    assert "One moment" in rendered
    assert "ada@example.com" not in rendered
