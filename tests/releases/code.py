"""The code of a release, as it was, taken from the repository's history."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
RELEASE_1_0_0 = "7666f67"
RELEASE_2_1_0 = "7d1086b3"


def git(*words):
    return subprocess.run(["git", *words], cwd=HERE, capture_output=True, check=True).stdout


def unpack(commit, folder):
    """The tree of a commit in a new folder."""
    folder.mkdir()
    archive = git("archive", commit)
    subprocess.run(["tar", "-xf", "-", "-C", str(folder)], input=archive, check=True)
    return folder


def python_for(code):
    """A Python with what the release pins: this one where that will do, else one of its own,
    which is kept beside ours."""
    check = ["manage.py", "check"]
    ours = subprocess.run([sys.executable, *check], cwd=code, capture_output=True, check=False)
    if ours.returncode == 0:
        return sys.executable
    venv = HERE / ".venv" / f"release-{RELEASE_1_0_0}"
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        install = ["-m", "pip", "install", "--quiet", "-r", str(code / "requirements.txt")]
        subprocess.run([str(python), *install], check=True)
    return str(python)
