"""The pages' scripts have types and pass a linter; each key has a text, and each text a key."""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings
from django.core import validators
from rest_framework import fields

from tests.client.conftest import FOLDER, run

pytestmark = pytest.mark.client

TEMPLATES = settings.BASE_DIR / "pages/templates/pages"
APPS = (
    "accounts",
    "api",
    "apikeys",
    "base",
    "config",
    "emailchanges",
    "invitations",
    "mail",
    "passwords",
    "signin",
)
APPS += ("scim", "sso", "throttling")


@pytest.fixture(scope="module")
def scripts():
    """The scripts' folder, after they have been compiled and checked by the linter."""
    assert run("npm", "run", "--silent", "check", folder="scripts") == ""
    return FOLDER / "scripts"


@pytest.fixture(scope="module")
def keys():
    """The keys of words.html."""
    return set(re.findall(r'<data value="([^"]+)">', (TEMPLATES / "words.html").read_text()))


@pytest.fixture(scope="module")
def named():
    """The keys that other templates name."""
    pages = "".join(file.read_text() for file in TEMPLATES.glob("*.html"))
    return set(re.findall(r'data-(?:say|link-text)="([^"]+)"', pages))


def strings_of(*files):
    """Every literal string in these Python files."""
    nodes = (node for file in files for node in ast.walk(ast.parse(Path(file).read_text())))
    return {node.value for node in nodes if isinstance(node, ast.Constant)}


def test_every_key_in_a_script_or_a_template_has_a_text(scripts, keys, named):
    """For the scripts, the compiler has said so."""
    assert named <= keys


def test_every_text_has_a_key_in_a_script_a_template_or_an_answer_of_the_api(scripts, keys, named):
    used = subprocess.check_output(["node", "used.mjs"], cwd=scripts, timeout=300)
    modules = (file for app in APPS for file in (settings.BASE_DIR / app).rglob("*.py"))
    answers = strings_of(*modules, fields.__file__, validators.__file__)
    schema = (settings.BASE_DIR / "docs/openapi.json").read_text()
    causes = {key for key in keys if f'"{key}"' in schema}

    assert keys - answers - causes - named - set(json.loads(used)) == set()
