"""How many passwords are hashed at a time on machines and in containers of all sizes."""

import os

import pytest

from signin import capacity
from signin.capacity import count_hash_slots

UNLIMITED = {"4:memory:/": "", "memory/memory.limit_in_bytes": "9223372036854771712"}
POD = "0::/kubepods.slice/pod.slice/web.scope"


@pytest.fixture(autouse=True)
def large_machine(monkeypatch, tmp_path):
    """32 cores, no cgroups."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(32), raising=False)
    monkeypatch.setattr(capacity, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(capacity, "OWN_CGROUPS", tmp_path / "own")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "slots"),
    [
        ({"0::/": "", "cpu.max": "max 100000", "memory.max": "max"}, 32),
        ({"0::/": "", "cpu.max": "250000 100000", "memory.max": "max"}, 2),
        ({"0::/": "", "cpu.max": "50000 100000"}, 1),
        ({"0::/": "", "cpu.max": "max 100000", "memory.max": str(384 << 20)}, 5),
        ({POD: "", "memory.max": str(384 << 20)}, 5),  # the host's path, seen from within
        ({POD: "", "kubepods.slice/pod.slice/cpu.max": "300000 100000"}, 3),
        ({POD: "", "kubepods.slice/pod.slice/web.scope/memory.max": str(16 << 20)}, 1),
        (UNLIMITED | {"3:cpu,cpuacct:/": "", "cpu,cpuacct/cpu.cfs_quota_us": "-1",
                      "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 32),
        ({"3:cpu,cpuacct:/a": "", "cpu,cpuacct/a/cpu.cfs_quota_us": "400000",
          "cpu,cpuacct/a/cpu.cfs_period_us": "100000"}, 4),
        ({"4:memory:/docker/a": "", "memory/memory.limit_in_bytes": str(384 << 20)}, 5),
    ],
)  # fmt: skip
def test_hash_slots_follow_the_limits_of_the_container(large_machine, files, slots):
    groups = [line for line in files if ":" in line]
    (large_machine / "own").write_text("".join(f"{line}\n" for line in groups))
    for name, content in files.items():
        if name not in groups:
            path = large_machine / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content + "\n")

    assert count_hash_slots(1, 256) == slots


@pytest.mark.parametrize(
    ("processes", "threads", "slots"), [(1, 32, 8), (8, 32, 4), (64, 32, 1), (1, 4, 1), (1, 1, 1)]
)
def test_processes_share_the_cores_and_most_threads_hash_nothing(processes, threads, slots):
    assert count_hash_slots(processes, threads) == slots


def test_hash_slots_follow_the_cores_of_a_system_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 12)

    assert count_hash_slots(1, 256) == 12
