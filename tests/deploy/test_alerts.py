"""deploy/alerts.yml and deploy/dashboard.json hold, and ask only for series that there are."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from metrics import series

pytestmark = pytest.mark.deploy
LOOKED_UP = Path("config/metrics.py").read_text(encoding="utf-8")


def known() -> set[str]:
    metrics = [metric for metric in vars(series).values() if isinstance(metric, MetricWrapperBase)]
    counted = {family.name for metric in metrics for family in metric.collect()}
    return counted | set(re.findall(r'(?:gauge|Family)\("(\w+)"', LOOKED_UP))


def asked(expression: str) -> set[str]:
    """The series in an expression, without the endings that Prometheus gives to samples."""
    names = re.findall(r"\b([a-z_]+)\{", expression)
    return {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in names}


def test_rules_are_well_formed():
    promtool = shutil.which("promtool")
    assert promtool, "apt-get install prometheus"
    done = subprocess.run([promtool, "check", "rules", "deploy/alerts.yml"], check=False)

    assert done.returncode == 0


def test_rules_ask_for_series_that_there_are():
    groups = yaml.safe_load(Path("deploy/alerts.yml").read_text(encoding="utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]

    assert all(rule["annotations"].keys() == {"summary", "action"} for rule in rules)
    assert set().union(*(asked(rule["expr"]) for rule in rules)) <= known()


def test_dashboard_asks_for_series_that_there_are():
    board = json.loads(Path("deploy/dashboard.json").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]

    assert len(expressions) > 12
    assert set().union(*map(asked, expressions)) <= known()
