"""The jobs that apps register with the worker."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.utils import timezone

from backoffice.management.commands import status
from config.metrics import state_of_database
from tests.tables import compare
from worker import jobs
from worker.models import Heartbeat
from worker.rounds import Worker

pytestmark = pytest.mark.django_db


def silent_seconds(job):
    series = {metric.name: metric for metric in state_of_database()}["job_silent_seconds"]
    return {sample.labels["name"]: sample.value for sample in series.samples}[job]


def test_every_model_with_prune_expired_is_pruned():
    tables = {
        model for model in apps.get_models() if hasattr(model._default_manager, "prune_expired")
    }

    advice = "register the model with `jobs.register_pruning`: see docs/architecture.md, Add a job"
    compare(set(jobs.pruned_models), tables, advice)
    assert len(jobs.pruned_models) == len(tables), "a model is registered twice"


def test_jobs_that_ran_are_listed_with_their_age():
    assert status.check_jobs() == ("ok", "last run: prune never, erasures never")
    assert silent_seconds("erasures") == -1
    Worker().run_jobs()

    assert status.check_jobs() == ("ok", "last run: prune 0 s ago, erasures 0 s ago")
    assert 0 <= silent_seconds("erasures") < 60


def test_overdue_job_degrades_the_status():
    Heartbeat.objects.create(name="erasures", at=timezone.now() - timedelta(minutes=11))
    Heartbeat.objects.create(name="prune", at=timezone.now() - timedelta(minutes=11))
    state, text = status.check_jobs()

    assert state == "degraded"
    assert "erasures 660 s ago" in text
    Heartbeat.objects.filter(name="erasures").delete()
    assert status.check_jobs()[0] == "ok"  # "prune" runs hourly


@pytest.mark.django_db(transaction=True)
def test_job_that_fails_stops_no_other_and_counts_as_not_run(monkeypatch, caplog):
    def fail():
        raise LookupError("of the job")

    monkeypatch.setitem(jobs.jobs_by_name, "prune", jobs.Job("prune", fail, jobs.HOURLY))
    Worker().run_jobs()

    assert "LookupError: of the job" in caplog.text
    assert set(Heartbeat.objects.values_list("name", flat=True)) == {"erasures"}


def test_job_runs_as_often_as_it_says(monkeypatch):
    runs = []
    for name, every in (("often", jobs.EACH_ROUND), ("seldom", jobs.HOURLY)):
        run = lambda name=name: runs.append(name) or 0  # noqa: E731
        monkeypatch.setitem(jobs.jobs_by_name, name, jobs.Job(name, run, every))
    worker = Worker()
    for _ in range(3):
        assert worker.run_jobs() is False  # so the worker waits

    assert sorted(runs) == ["often", "often", "often", "seldom"]


def test_job_with_more_work_is_run_again_at_once(monkeypatch):
    job = jobs.Job("erasures", lambda: 1, jobs.EACH_ROUND)
    monkeypatch.setitem(jobs.jobs_by_name, "erasures", job)

    assert Worker().run_jobs() is True
