"""A Prometheus for the year: samples of both hosts' /metrics, and promtool for the rules."""

import re

from tests.deploy.test_alerts import asked, promtool, rules
from tests.requests import ask
from tests.year.places import METRICS_TOKEN

LINE = re.compile(r"(?m)^(\w+)(?:\{(.*)\})? (\S+)$")
NAMES = set().union(*(asked(rule["expr"]) for rule in rules().values()))


def base(name):
    return re.sub(r"_(total|bucket|count|sum)$", "", name)


def scrape(host):
    """The samples of a host that rules ask for, by their series; `up` beside them."""
    name = f'job="consulting", instance="{host.name}"'
    try:
        answer = ask(host.url, "GET", "/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
    except OSError:
        return {f"up{{{name}}}": "0"}
    assert answer.status == 200, answer.body
    found = {f"up{{{name}}}": "1"}
    for series, labels, value in LINE.findall(answer.body.decode()):
        if base(series) in NAMES and not series.endswith("_bucket"):
            found[f"{series}{{{name}{', ' if labels else ''}{labels.rstrip(',')}}}"] = value
    return found


class Watch:
    """Samples at even intervals: a minute's in an hour that is looked at, a day's in the year."""

    def __init__(self, places, interval="1m"):
        self.places, self.interval = places, interval
        self.samples = []

    def look(self):
        self.samples.append({k: v for host in self.places.hosts for k, v in scrape(host).items()})

    def minutes(self, number, do=lambda: None, settled=True):
        """So many minutes, in each of which something is done, and the mail workers get to do what
        a minute is enough for; unless that cannot be `settled`. A minute takes the machine a tenth
        of a second: a store that was lost for as long as a busy one takes to answer is found again
        before anybody looks."""
        for _ in range(number):
            do()
            self.places.clock.go_on(minutes=1)
            if settled:
                self.places.wait_until_mails_are_tried()
                self.places.wait_until_well()
            self.look()

    def series(self):
        names = dict.fromkeys(name for sample in self.samples for name in sample)
        return [
            {"series": name, "values": " ".join(s.get(name, "_") for s in self.samples)}
            for name in names
        ]

    def verdict(self, folder, *alerts):
        """Nothing where these alerts fired and no others; else what promtool has against it."""
        unit = self.interval[-1]
        fired = f'max_over_time(ALERTS{{alertstate="firing"}}[{len(self.samples)}{unit}])'
        wanted = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in alerts]
        test = {
            "expr": f"group by (alertname) ({fired})",
            "eval_time": f"{len(self.samples) - 1}{unit}",
            "exp_samples": wanted,
        }
        case = {"interval": self.interval, "input_series": self.series()}
        return promtool(folder, case | {"promql_expr_test": [test]}, self.interval)
