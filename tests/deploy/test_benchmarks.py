"""`make bench` runs against the service as it is; what it finds is for a quiet machine to say."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.deploy


def test_bench_measures_calls_and_floors(tmp_path):
    saved = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "--json", "--rounds", "1", "--only", "/auth/me"]
    command += ["--save", str(saved)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert {"GET /auth/me", "floor: DRF view"} <= {row["call"] for row in found["calls"]}
    assert all(row["errors"] == 0 and row["cpu_ms"] > 0 for row in found["calls"])
    run = json.loads(saved.read_text())
    rounds = {call["call"]: len(call["rounds"]) for call in run["calls"]}
    assert rounds["GET /auth/me"] == 1
    assert set(run) >= {"time", "versions", "machine", "noise"}
    assert set(found["floors_ms"]) >= {"hash", "signature", "query", "PING", "decision"}
