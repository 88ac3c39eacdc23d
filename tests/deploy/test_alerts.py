"""deploy/alerts.yml and deploy/dashboard.json hold, and ask only for series that there are."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from prometheus_client.metrics import MetricWrapperBase

from metrics import series
from tests.tables import compare

pytestmark = pytest.mark.deploy
RULES = Path("deploy/alerts.yml").resolve()
RUNBOOKS = "https://wiki.example.com/consulting/incidents"
JOB = 'job="consulting"'
REQUESTS = "http_request_duration_seconds_count"
REFUSED_LOG_INS = f'{REQUESTS}{{{JOB}, route="auth/login", status="503"}}'
MADE_BY_OTHERS = {
    "up",
    "probe_ssl_earliest_cert_expiry",  # blackbox_exporter
    "node_filesystem_avail_bytes",
    "node_filesystem_size_bytes",
    "consulting_backup_timestamp_seconds",  # consulting-backup.service, by node_exporter
    "pg_stat_activity",  # postgres_exporter
    "pg_settings_max_connections",
}
REFUSED = f'limiter_decisions_total{{{JOB}, tier="credential", outcome="refused"}}'
CALLERS = f'limiter_callers_refused_total{{{JOB}, tier="credential"}}'
HOST = {"instance": "db1"}
ROOT = 'job="node", instance="db1", mountpoint="/", fstype="ext4"'
EXPIRY = 'probe_ssl_earliest_cert_expiry{job="blackbox", instance="api"}'
BACKUP = 'consulting_backup_timestamp_seconds{job="node", instance="a"}'
# An alert, the minutes after which somebody has to have been woken, the labels that are told, and
# the series of an outage in Prometheus's own notation: from+step, x times, one sample a minute.
OUTAGES = [
    ("ServiceDown", 10, {"job": "consulting", "instance": "a"},
     {f'up{{{JOB}, instance="a"}}': "1x5 0x20", f'up{{{JOB}, instance="b"}}': "1x30"}),
    ("ServiceDown", 5, {"job": "consulting"}, {'up{job="something else"}': "1x30"}),
    ("ServiceErrors", 20, {}, {f'{REQUESTS}{{{JOB}, status="503"}}': "0x5 0+18x20"}),
    ("DatabaseUnavailable", 10, {},
     {f'{REQUESTS}{{{JOB}, route="health", status="503"}}': "0x5 0+6x10"}),
    ("DatabaseUnavailable", 10, {}, {f"database_unavailable{{{JOB}}}": "0x5 1x10"}),
    ("LimiterStoreLost", 10, {}, {f"limiter_store_lost{{{JOB}}}": "0x5 1x10"}),
    ("LimiterStoreSlow", 20, {},
     {f'limiter_store_failures_total{{{JOB}, reason="TimeoutError"}}': "0+30x30"}),
    ("MailsWait", 20, {}, {f"mails_oldest_waiting_seconds{{{JOB}}}": "0+60x30"}),
    ("MailsRefused", 45, {},
     {f"mails_put_off{{{JOB}}}": "3x60", f'mails_of_last_hour{{{JOB}, state="sent"}}': "0x60"}),
    ("MailsRefused", 45, {}, {f"mails_put_off{{{JOB}}}": "3x60"}),
    ("WorkerSilent", 20, {}, {f"mail_worker_silent_seconds{{{JOB}}}": "0+60x30"}),
    ("WorkerSilent", 10, {}, {f"mail_worker_silent_seconds{{{JOB}}}": "-1x20"}),
    ("PruneSilent", 65, {}, {f"prune_silent_seconds{{{JOB}}}": "-1x70"}),
    ("PruneSilent", 65, {}, {f"prune_silent_seconds{{{JOB}}}": "86401+60x70"}),
    ("ClockOff", 10, {}, {f"clock_ahead_seconds{{{JOB}}}": "-40x20"}),
    ("MailsGivenUp", 35, {}, {f"mails_given_up{{{JOB}}}": "0x30 1x10"}),
    ("LoginsQueue", 15, {}, {f'password_hashes{{{JOB}, state="waiting"}}': "0x5 40x20"}),
    ("LoginsQueue", 8, {}, {REFUSED_LOG_INS: "0x5 240x20"}),
    ("PasswordSpraying", 45, {},
     {f'audit_events_total{{{JOB}, kind="login.failed"}}': "0+40x60",
      f'audit_events_total{{{JOB}, kind="login.succeeded"}}': "0+5x60"}),
    ("PasswordSpraying", 45, {},  # most sign in at their company's provider
     {f'audit_events_total{{{JOB}, kind="login.failed"}}': "0+40x60",
      f'audit_events_total{{{JOB}, kind="login.succeeded"}}': "0+50x60",
      f'sign_ins_total{{{JOB}, method="sso"}}': "0+45x60"}),
    ("PasswordsKnown", 45, {},
     {f'wrong_second_factors_total{{{JOB}, method="totp"}}': "0+1x60",
      f'sign_ins_total{{{JOB}, method="totp"}}': "0x60"}),
    ("RefusedByLimit", 30, {}, {REFUSED: "0+400x40", CALLERS: "0+2x40"}),
    ("ManyCallersRefused", 30, {}, {REFUSED: "0+400x40", CALLERS: "0+40x40"}),
    ("MailboxesRefused", 80, {},
     {f'mails_of_last_hour{{{JOB}, state="refused"}}': "0x5 0+1x60 60x30",
      f'mails_of_last_hour{{{JOB}, state="sent"}}': "0+2x60 120x30"}),
    ("CertificateExpires", 90, {"instance": "api"}, {EXPIRY: f"{13 * 86400}x100"}),
    ("BackupOld", 27 * 60, {}, {BACKUP: "0x2000"}),
    ("BackupOld", 40, {"job": "node"}, {'up{job="node"}': "1x60"}),
    ("DiskFull", 30, HOST | {"mountpoint": "/"},
     {f"node_filesystem_avail_bytes{{{ROOT}}}": "9x40",
      f"node_filesystem_size_bytes{{{ROOT}}}": "100x40"}),
    ("ConnectionsUsed", 20, HOST,
     {'pg_stat_activity_count{job="postgres", instance="db1", state="idle"}': "80x30",
      'pg_stat_activity_count{job="postgres", instance="db1", state="active"}': "5x30",
      'pg_settings_max_connections{job="postgres", instance="db1"}': "100x30"}),
    ("ProviderFails", 20, {}, {f"sso_providers_failing{{{JOB}}}": "0x5 1x20"}),
    ("EventsHeldBack", 10, {}, {f"events_held_back_seconds{{{JOB}}}": "0 0+60x20"}),
    ("SigningKeyOld", 80, {},
     {f"signing_key_age_seconds{{{JOB}}}": "10367990+60x90",  # 120 days are 10,368,000
      f"next_signing_key_seconds{{{JOB}}}": "-1x90"}),
    ("SigningKeyUnreadable", 10, {},
     {f'signing_keys_unreadable{{{JOB}, instance="b"}}': "0x5 1x20"}),
]  # fmt: skip
# A day of a service that is well: a release goes out in between, a few requests fail,
# somebody mistypes a password each minute, and a mail was given up long ago.
QUIET_DAY = {
    f'up{{{JOB}, instance="a"}}': "1x240 0 1x1200",
    f'http_request_duration_seconds_count{{{JOB}, status="200"}}': "0+1800x240 0+1800x1200",
    f'http_request_duration_seconds_count{{{JOB}, status="503"}}': "0x239 0 3x1200",
    f"database_unavailable{{{JOB}}}": "0x700 1 0x740",
    f"limiter_store_lost{{{JOB}}}": "0x300 1 0x1140",
    f'limiter_store_failures_total{{{JOB}, reason="TimeoutError"}}': "0x100 0+1x20 20x1320",
    f"mails_oldest_waiting_seconds{{{JOB}}}": "0x100 0+30x10 0x1330",
    f"mails_put_off{{{JOB}}}": "0x100 9x60 1x1280",  # one address is refused, others are not
    f"mail_worker_silent_seconds{{{JOB}}}": "3x1440",
    f"prune_silent_seconds{{{JOB}}}": "1800x1440",
    f"clock_ahead_seconds{{{JOB}}}": "0.2x1440",
    f"mails_given_up{{{JOB}}}": "0x1440",
    f'mails_of_last_hour{{{JOB}, state="sent"}}': "360x1440",
    f'password_hashes{{{JOB}, state="waiting"}}': "0x100 9x2 0x1340",
    REFUSED_LOG_INS: "0x900 20x540",
    # A company's provider refuses one of its users again and again.
    f'audit_events_total{{{JOB}, kind="login.failed"}}': "0+31x1440",
    f"sso_failures_total{{{JOB}}}": "0+30x1440",
    f'audit_events_total{{{JOB}, kind="login.succeeded"}}': "0+5x1440",
    f'sign_ins_total{{{JOB}, method="sso"}}': "0+2x1440",
    REFUSED: "0+2x1440",
    CALLERS: "0+1x1440",
    f'mails_of_last_hour{{{JOB}, state="refused"}}': "3x200 3+1x30 33x30 3x1180",
    EXPIRY: f"{80 * 86400}x1440",
    BACKUP: "0x1440",
    f"node_filesystem_avail_bytes{{{ROOT}}}": "40x1440",
    f"node_filesystem_size_bytes{{{ROOT}}}": "100x1440",
    'pg_stat_activity_count{job="postgres", instance="db1", state="idle"}': "40x1440",
    'pg_settings_max_connections{job="postgres", instance="db1"}': "100x1440",
    # Somebody mistypes a code every quarter of an hour, and then gets in.
    f'wrong_second_factors_total{{{JOB}, method="totp"}}': "0+0.06x1440",
    f'sign_ins_total{{{JOB}, method="totp"}}': "0+0.5x1440",
    f"signing_key_age_seconds{{{JOB}}}": "8640000+60x1440",
    f"next_signing_key_seconds{{{JOB}}}": "-1x1440",
    f"signing_keys_unreadable{{{JOB}}}": "0x1440",
    f"sso_providers_failing{{{JOB}}}": "0x1440",
    f"events_held_back_seconds{{{JOB}}}": "0x700 90x3 0x736",  # a migration
}


def rules():
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def case(samples, *expected):
    """One of promtool's tests, with a scrape a minute."""
    given = [{"series": name, "values": values} for name, values in samples.items()]
    return {"interval": "1m", "input_series": given, "alert_rule_test": list(expected)}


def promtool(folder, tested, interval="1m"):
    """What `promtool test rules` (of Debian's prometheus) has against the case, with rules that are
    evaluated at an interval, or against their form; nothing where it holds."""
    path = folder / "tests.yml"
    told = {"rule_files": [str(RULES)], "evaluation_interval": interval, "tests": [tested]}
    path.write_text(yaml.safe_dump(told))
    done = subprocess.run(
        ["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr if done.returncode else ""


LOOKED_UP = Path("config/metrics.py").read_text(encoding="utf-8")


def known():
    metrics = [metric for metric in vars(series).values() if isinstance(metric, MetricWrapperBase)]
    counted = {family.name for metric in metrics for family in metric.collect()}
    return counted | set(re.findall(r'(?:Gauge|Family)\(\s*"(\w+)"', LOOKED_UP))


def asked(expression):
    """The series in an expression, without the endings that Prometheus gives to samples."""
    names = re.findall(r"\b([a-z_]+)\{", expression)
    return {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in names}


def test_rules_ask_for_series_that_there_are():
    every = rules().values()

    assert set().union(*(asked(rule["expr"]) for rule in every)) <= known() | MADE_BY_OTHERS


def test_every_alert_names_its_heading_among_the_incidents():
    page = Path("docs/incidents.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^### ([A-Z][A-Za-z]+)$", page, re.MULTILINE))

    compare(headings, set(rules()), "say what to do, under the alert's name, in docs/incidents.md")
    for alert, rule in rules().items():
        assert rule["annotations"].keys() == {"summary", "action", "runbook_url"}, alert


def test_every_alert_is_tested_in_an_outage_and_in_normal_operation():
    quiet = set().union(*(asked(name) for name in QUIET_DAY))

    compare({alert for alert, *_ in OUTAGES}, set(rules()), "add the alert to OUTAGES here")
    assert set().union(*(asked(rule["expr"]) for rule in rules().values())) <= quiet


@pytest.mark.parametrize(("alert", "minutes", "labels", "samples"), OUTAGES)
def test_outage_raises_an_alert_in_time(tmp_path, alert, minutes, labels, samples):
    rule = rules()[alert]
    annotations = rule["annotations"] | {"runbook_url": f"{RUNBOOKS}#{alert.lower()}"}
    told = {"exp_labels": rule["labels"] | labels, "exp_annotations": annotations}
    wakes = {"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": [told]}

    assert promtool(tmp_path, case(samples, wakes)) == ""


def test_normal_operation_raises_no_alert(tmp_path):
    nothing = [
        {"eval_time": f"{minutes}m", "alertname": alert}
        for alert in rules()
        for minutes in range(0, 1440, 5)
    ]

    assert promtool(tmp_path, case(QUIET_DAY, *nothing)) == ""


def test_dashboard_asks_for_series_that_there_are():
    board = json.loads(Path("deploy/dashboard.json").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]

    assert len(expressions) > 12
    assert set().union(*map(asked, expressions)) <= known()
