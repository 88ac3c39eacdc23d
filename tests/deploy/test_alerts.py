"""deploy/alerts.yml and deploy/dashboard.json hold, and ask only for series that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from metrics import series

pytestmark = pytest.mark.deploy
RULES = Path("deploy/alerts.yml")
LOOKED_UP = Path("config/metrics.py").read_text(encoding="utf-8")


def known() -> set[str]:
    metrics = [metric for metric in vars(series).values() if isinstance(metric, MetricWrapperBase)]
    counted = {family.name for metric in metrics for family in metric.collect()}
    return counted | set(re.findall(r'(?:gauge|Family)\("(\w+)"', LOOKED_UP))


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def asked(expression: str) -> set[str]:
    """The series in an expression, without the endings that Prometheus gives to samples."""
    names = re.findall(r"\b([a-z_]+)\{", expression)
    return {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in names}


def test_rules_are_well_formed():
    promtool = shutil.which("promtool")
    assert promtool, "apt-get install prometheus"
    done = subprocess.run([promtool, "check", "rules", "deploy/alerts.yml"], check=False)

    assert done.returncode == 0


@pytest.mark.parametrize(
    ("alert", "series", "fires"),
    [
        ("MailsWait", {"mails_oldest_waiting_seconds": "0+60x90"}, True),
        ("MailsWait", {"mails_oldest_waiting_seconds": "0x90", "mails_put_off": "9x90"}, False),
        ("MailsRefused", {"mails_put_off": "3x90", 'mails_total,state="sent"': "7x90"}, True),
        ("MailsRefused", {"mails_put_off": "3x90"}, True),
        ("MailsRefused", {"mails_put_off": "3x90", 'mails_total,state="sent"': "7+1x90"}, False),
        ("MailsRefused", {"mails_put_off": "1x90"}, False),
        ("MailsUnknown", {"mails_unknown": "1x90"}, True),
        ("MailsUnknown", {"mails_unknown": "1x50 0x40"}, False),
        ("ClockOff", {"clock_ahead_seconds": "-40x90"}, True),
        ("ClockOff", {"clock_ahead_seconds": "0.2x90"}, False),
    ],
)
def test_alert_fires_when_it_should(tmp_path, alert, series, fires):
    inputs = []
    for what, values in series.items():
        name, _, label = what.partition(",")
        labels = f'job="consulting"{"," if label else ""}{label}'
        inputs.append({"series": f"{name}{{{labels}}}", "values": values})
    asks = [{"expr": f'ALERTS{{alertname="{alert}",alertstate="firing"}}', "eval_time": "85m"}]
    if fires:
        severity = next(rule for rule in rules() if rule["alert"] == alert)["labels"]["severity"]
        labels = f'{{alertname="{alert}",alertstate="firing",severity="{severity}"}}'
        asks[0]["exp_samples"] = [{"labels": f"ALERTS{labels}", "value": 1}]
    case = {"interval": "1m", "input_series": inputs, "promql_expr_test": asks}
    path = tmp_path / "case.yml"
    path.write_text(yaml.safe_dump({"rule_files": [str(RULES.resolve())], "tests": [case]}))
    done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b""), done.stdout


def test_rules_ask_for_series_that_there_are():
    assert all(rule["annotations"].keys() == {"summary", "action"} for rule in rules())
    assert set().union(*(asked(rule["expr"]) for rule in rules())) <= known()


def test_dashboard_asks_for_series_that_there_are():
    board = json.loads(Path("deploy/dashboard.json").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]

    assert len(expressions) > 12
    assert set().union(*map(asked, expressions)) <= known()
