"""How many passwords a process may hash at a time, by the cores and memory of its container."""

import os
from collections.abc import Iterator
from pathlib import Path

HASH_KIB = 19 * 1024  # KiB of memory that one hash takes
CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")  # Linux


def count_hash_slots(processes: int, threads: int) -> int:
    """The number of hashes that each of a container's `processes`, of so many `threads`, may
    compute at a time: at least one, and at most a quarter of its threads, its share of the cores,
    and its share of a quarter of the memory limit, if any."""
    # macOS has no sched_getaffinity.
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quotas = [*read_cgroups("cpu.max"), *read_cgroups("cpu.cfs_quota_us", "cpu.cfs_period_us")]
    limits = [*read_cgroups("memory.max"), *read_cgroups("memory.limit_in_bytes")]
    slots = [affinity or 1, *(quota / period for quota, period in quotas if quota > 0)]
    slots += [limit / 4 / (HASH_KIB * 1024) for (limit,) in limits]
    return max(1, int(min(threads / 4, min(slots) / processes)))


def read_cgroups(*names: str) -> Iterator[list[int]]:
    """For each cgroup (v1 or v2) of this process and each one above it, the numbers in its files of
    these names. Yields nothing for a cgroup that lacks a file or says "max"."""
    for line in OWN_CGROUPS.read_text().splitlines() if OWN_CGROUPS.exists() else []:
        _, controllers, path = line.split(":", 2)
        # A container may see its own cgroup's files at the top, but the host's path.
        folder = CGROUPS / controllers / path.strip("/")
        for group in [folder, *folder.parents]:
            try:
                yield [int(text) for name in names for text in (group / name).read_text().split()]
            except (OSError, ValueError):
                continue
