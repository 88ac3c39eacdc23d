"""The browser of the browser tests, a service with an operator, and programs that others wrote."""

import subprocess
from pathlib import Path

import pytest

from tests.browser.conftest import browser

__all__ = ["browser"]

FOLDER = Path(__file__).parent


def run(*command, folder=""):
    """Run a program in a folder of the clients'; what it said, if it failed."""
    done = subprocess.run(
        command, cwd=FOLDER / folder, capture_output=True, text=True, check=False, timeout=300
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture
def service(new_service):
    """One with Ada as its operator."""
    return new_service(RATE_LIMIT_CREDENTIAL="1000").add_operator().start()
