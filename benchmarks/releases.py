"""`make figures`: writes the table of releases in docs/performance.md from the files that
`make bench OPTIONS='--save benchmarks/figures/….json'` wrote. A figure is the median of all rounds.
"""

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

PAGE, FOLDER = Path("docs/performance.md"), Path(__file__).parent / "figures"
BLOCK = re.compile("(?<=<!-- releases -->\n).*(?=<!-- end -->)", re.DOTALL)
COLUMNS = {
    "GET /auth/me": "`/auth/me`",
    "POST /auth/refresh": "refresh",
    "POST /auth/login": "log-in",
    "429 public": "refusal",
}


def table(runs: list[dict]) -> str:
    """A row for each release: CPU of the calls in ms, requests a second of `/auth/me`, failures."""
    rounds, failures = defaultdict(list), defaultdict(int)
    for run in runs:
        for call in run["calls"]:
            if version := run["versions"].get(call["server"]):
                rounds[version, call["call"]] += call["rounds"]
                failures[version] += len(call["failures"])
    lines = [f"| release | {' | '.join(COLUMNS.values())} | `/auth/me` a second | failures |"]
    lines.append("|---" * (len(COLUMNS) + 3) + "|")
    for version in sorted(failures):
        medians = [
            f"{statistics.median(one['cpu_ms'] for one in rounds[version, call]):.2f}"
            for call in COLUMNS
        ]
        rate = statistics.median(one["per_second"] for one in rounds[version, "GET /auth/me"])
        lines.append(f"| {version} | {' | '.join(medians)} | {rate:.0f} | {failures[version]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    runs = [json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    PAGE.write_text(BLOCK.sub(lambda _: table(runs), PAGE.read_text("utf-8")), "utf-8")
