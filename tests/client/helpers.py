"""What several tests of client share."""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
from urllib.parse import urlsplit

from tests import servers
from tests.cast import PASSWORD
from tests.client.conftest import FOLDER
from tests.servers import wait_for_port

NOWHERE = "http://api.test"  # the API of what is built, which each front-end has another's name for


@functools.cache
def build(refresh_token):
    """The folder of what Vite makes, which takes it some seconds."""
    folder = servers.FOLDER / f"frontend-{refresh_token}"
    command = ["npm", "run", "--silent", "frontend", "--", "--outDir", str(folder)]
    environment = {"VITE_API": NOWHERE, "VITE_REFRESH_TOKEN": refresh_token}
    subprocess.run(command, cwd=FOLDER, env=os.environ | environment, check=True)
    return folder


@contextlib.contextmanager
def built_at(origin, site, api="", refresh_token="cookie"):
    """The service, and `site.frontend`: where Vite serves what it has built."""
    port, folder = str(urlsplit(origin).port), site.service.folder / "frontend"
    shutil.copytree(build(refresh_token), folder)
    for script in folder.rglob("*.js"):
        text = script.read_text(encoding="utf-8").replace(NOWHERE, api or site.service.url)
        script.write_text(text, encoding="utf-8")
    vite = ["node", "node_modules/vite/bin/vite.js", "preview", "frontend", "--strictPort"]
    vite += ["--outDir", str(folder), "--host", "127.0.0.1", "--port", port]
    with subprocess.Popen(vite, cwd=FOLDER, stdout=subprocess.DEVNULL) as server:
        wait_for_port(int(port))
        site.frontend = origin
        yield site
        server.terminate()
    for context in site.contexts:
        context.close()


def person(page):
    page.get_by_text("Ada Lovelace, admin").wait_for()


def fill(page, form, **fields):
    for name, value in fields.items():
        page.locator(f"{form} [name={name}]").fill(value)
    page.locator(f"{form} button:visible").click()


def sign_up(site):
    page = site.tab(site.frontend)
    fill(page, "#ask", email="ada@example.com")
    page.get_by_text("If the address is available").wait_for()
    page.goto(site.mailed_link())
    names = {"first_name": "Ada", "last_name": "Lovelace"}
    fill(page, "#complete", account_name="Analytical Engines", password=PASSWORD, **names)
    person(page)
    return page


def interpreter(name, requirements):
    """A Python with these packages; made once, and again when they change."""
    folder = FOLDER / "pythons" / ".venvs" / name
    kept, wanted = folder / "requirements.txt", "\n".join(requirements)
    if not kept.exists() or kept.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([folder / "bin/python", *install, *requirements], check=True)
        kept.write_text(wanted)
    return str(folder / "bin/python")
