"""`make bench`: one table of what each call costs, and what it costs beside the floors."""

import argparse
import json
import re
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from benchmarks import calls, floors, scale, servers, spread, steady, storm

DRF = "floor: DRF view"
MCP = "POST /mcp whoami"
FORGED = "401 forged token"
REFRESH, SIGN_IN = f"{DRF}, 2 signatures", f"{DRF}, hash, 2 signatures"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--rounds", type=int, default=7, help="how often to measure each call")
    parser.add_argument("--connections", type=int, default=16, help="clients at a time")
    parser.add_argument(
        "--only",
        default="",
        help="only calls with one of these words in their names, and the floors: me,404",
    )
    parser.add_argument(
        "--fill", type=int, default=0, metavar="USERS", help="also measure with so many users"
    )
    parser.add_argument(
        "--beside",
        metavar="TREE",
        help="also measure the service of another working tree, over the same database",
    )
    parser.add_argument(
        "--spread",
        action="store_true",
        help="how evenly processes share the work (needs nginx and wrk)",
    )
    parser.add_argument(
        "--storm", action="store_true", help="what others wait while a crowd logs in"
    )
    parser.add_argument("--steady", action="store_true", help="50 clients sign in for 120 s")
    parser.add_argument("--save", default="var/bench.json", help="where every run is written")
    parser.add_argument("--scale", action="store_true", help="what more processes and hosts serve")
    return parser.parse_args()


def load(call: calls.Call, server: servers.Gunicorn, connections: int) -> None:
    """One round of a call."""
    before = server.cpu()
    found = storm.end(storm.begin(server.port, call, connections, call.count))
    call.cpu.append((server.cpu() - before) * 1000 / call.count)
    call.rate.append(call.count / found["seconds"])
    call.latencies.append([seconds * 1000 for seconds in found["latencies"]])
    call.wrong += found["wrong"]


def ratio(call: calls.Call, floor: calls.Call, more: float = 0.0) -> float:
    """The CPU of a call beside that of a floor, and so many milliseconds more: the median of the
    rounds' ratios. What slows the machine for a while slows both in the same round."""
    pairs = zip(call.cpu, floor.cpu, strict=True)
    return round(statistics.median(own / (least + more) for own, least in pairs), 2)


def row(call: calls.Call, drf: calls.Call) -> dict[str, Any]:
    """A call's figures: medians over its rounds, percentiles of all its answers."""
    latencies = sorted(latency for one in call.latencies for latency in one)
    percentile = statistics.quantiles(latencies, n=100)
    return {
        "call": call.name,
        "cpu_ms": round(statistics.median(call.cpu), 3),
        "times_drf": ratio(call, drf),
        "per_second": round(statistics.median(call.rate)),
        "p50_ms": round(percentile[49], 1),
        "p99_ms": round(percentile[98], 1),
        "queries": call.queries,
        "redis": call.redis,
        "errors": len(call.wrong),
    }


def targets(
    every: list[calls.Call], rows: list[dict[str, Any]], floor: dict[str, float]
) -> list[dict[str, Any]]:
    """What the ratios have to be, and what they are."""
    by_name = {call.name: call for call in every}
    refusals = [name for name in by_name if re.fullmatch(r"4\d\d[ a-z]*", name) and name != FORGED]
    # The call, what it is compared with, milliseconds more for that, and the bound.
    bounds: list[tuple[str, str, float, float]] = [
        (calls.ME, DRF, 0, 2.0),
        *((name, DRF, 0, 1.35) for name in refusals),
        # What only a check of the signature tells costs one.
        (FORGED, DRF, 0, 1.55),
        ("POST /auth/refresh", REFRESH, 1.1, 1.0),
        ("POST /auth/login", SIGN_IN, 0, 1.12),
        (calls.ME_METRICS, calls.ME, 0, 1.02),
        (calls.CHECK, calls.ME, 0, 1.05),
        (calls.USERS_BY_KEY, calls.USERS, 0, 1.0),
        (MCP, calls.ME, 0, 1.5),
        *((f"{name}, filled", name, 0, 1.1) for name in by_name),
        *((name, f"{name}, beside", 0, 1.03) for name in by_name),
    ]
    found = [
        {
            "target": f"{name} / {other}" + (f" + {more} ms" if more else ""),
            "ratio": ratio(by_name[name], by_name[other], more),
            "at_most": most,
        }
        for name, other, more, most in bounds
        if name in by_name and other in by_name
    ]
    if me := next((row for row in rows if row["call"] == calls.ME), None):
        spread = round(me["p99_ms"] / me["p50_ms"], 2)
        found.append({"target": f"{calls.ME}: p99 / p50", "ratio": spread, "at_most": 5.0})
    for one in rows:
        if most := calls.MILLISECONDS.get(one["call"]):
            found.append({"target": f"{one['call']}: ms", "ratio": one["cpu_ms"], "at_most": most})
    decision = round(floor["decision"] / floor["PING"], 2)
    found.append({"target": "decision / PING", "ratio": decision, "at_most": 1.4})
    errors = sum(row["errors"] for row in rows)
    return [*found, {"target": "errors", "ratio": errors, "at_most": 0}]


def show(rows: list[dict[str, Any]]) -> None:
    widths = {name: max(len(str(row[name])) for row in [*rows, {name: name}]) for name in rows[0]}
    for line in [{name: name for name in widths}, *rows]:
        print(*(str(line[name]).ljust(width) for name, width in widths.items()), sep="  ")
    print()


def measure(every: list[calls.Call], chosen: argparse.Namespace) -> None:
    """Load every call in turn, round by round, so that what disturbs disturbs all of them."""
    names = {call.server for call in every}
    running = {name: servers.gunicorn(name, chosen.beside) for name in names}
    try:
        for number in range(chosen.rounds + 1):
            for call in every:
                load(call, running[call.server], chosen.connections)
                if not number:  # which only warmed it up
                    for figures in (call.cpu, call.rate, call.latencies):
                        figures.clear()
    finally:
        for server in running.values():
            server.stop()
    for call in every:
        if call.server == "service":
            calls.costs(call)  # the first of a process reads what is read once
            call.queries, call.redis = calls.costs(call)


def saved(call: calls.Call) -> dict[str, Any]:
    """Every round of a call, as it is written to a file."""
    rounds = [
        {"cpu_ms": round(cpu, 3), "per_second": round(rate, 1)}
        | {f"p{n}_ms": round(statistics.quantiles(times, n=100)[n - 1], 2) for n in (50, 95, 99)}
        for cpu, rate, times in zip(call.cpu, call.rate, call.latencies, strict=True)
    ]
    name = call.name.removesuffix(f", {call.server}")
    return {"call": name, "server": call.server, "rounds": rounds, "failures": call.wrong}


def save(chosen: argparse.Namespace, measured: list[dict[str, Any]], noise: Any) -> None:
    """Write every round with the machine and the versions, for `make figures`."""
    versions = {"service": servers.version_of(Path())}
    if chosen.beside:
        versions["beside"] = servers.version_of(Path(chosen.beside))
    run = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions,
        "machine": servers.machine(),
        "connections": chosen.connections,
        "noise": noise,
        "calls": measured,
    }
    path = Path(chosen.save)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run, indent=1) + "\n", "utf-8")


def report(rows: list[dict[str, Any]], as_json: bool) -> int:
    """A table by itself."""
    if as_json:
        print(json.dumps(rows, indent=1))
    else:
        show(rows)
    return 0


def main() -> int:
    chosen = options()
    servers.set_up()
    benches = {"spread": spread, "storm": storm, "scale": scale, "steady": steady}
    for name, bench in benches.items():
        if getattr(chosen, name):
            return report(bench.measure(), chosen.json)
    names = [*chosen.only.split(","), "floor"]
    every = [call for call in calls.cast() if any(name in call.name for name in names)]
    if chosen.fill:
        servers.make_filled(chosen.fill)
        # A link that is made for the one database is no link of the other; tokens are good in both.
        own = [call for call in every if call.renew in {None, calls.refresh_tokens}]
        every += [call.sent_to("filled") for call in own if call.server == "service"]
    if chosen.beside:
        every += [call.sent_to("beside") for call in every if call.server == "service"]
    before = psutil.cpu_times()
    measure(every, chosen)
    noise = servers.noise(before, psutil.cpu_times())
    drf = next(call for call in every if call.name == DRF)
    rows = [row(call, drf) for call in every]
    floor = {name: round(value, 4) for name, value in floors.measure().items()}
    reached = targets(every, rows, floor)
    save(chosen, [saved(call) for call in every], noise)
    if chosen.json:
        found = {"calls": rows, "floors_ms": floor, "targets": reached, "noise": noise}
        print(json.dumps(found, indent=1))
        return 0
    show(rows)
    show([{"floor": name, "ms": value} for name, value in floor.items()])
    show([line | {"met": line["ratio"] <= line["at_most"]} for line in reached])
    show([noise])
    for wrong in {wrong for call in every for wrong in call.wrong[:3]}:
        print("wrong answer:", wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
