"""The code of a release, as it was, taken from the repository's history."""

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
RELEASE_2_1_0, RELEASE_2_2_0, RELEASE_3_0_0 = "7d1086b3", "9155fd8e", "5950d09f"
RELEASE_3_1_0 = "ba68146e"
UPGRADABLE = [RELEASE_3_0_0, RELEASE_3_1_0]  # to the present one, host by host
# Migrates to the named migrations, also to replaced ones, at which `migrate` does not stop.
MIGRATE_TO = """
import sys
import django
django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
executor = MigrationExecutor(connection)
executor.loader.replace_migrations = False
executor.loader.build_graph()
executor.migrate([tuple(name.split(".")) for name in sys.argv[1:]])
"""


def git(*words):
    return subprocess.run(["git", *words], cwd=HERE, capture_output=True, check=True).stdout


def unpack(commit, folder):
    """The tree of a commit in a new folder."""
    folder.mkdir()
    archive = git("archive", commit)
    subprocess.run(["tar", "-xf", "-", "-C", str(folder)], input=archive, check=True)
    return folder
