"""GET /metrics: the counts of `metrics.series`, and the present state of keys, mails, jobs,
lockouts, identity providers and the feed of events. The call has no rate limit."""

import logging
import platform
import time
from collections.abc import Iterator

from django.conf import settings
from django.db import Error
from django.http import HttpResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.core import InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from api.views import BaseView
from apikeys.feed import held_back_seconds
from base.admin import MAX_COUNTED_ROWS
from config.views import could_read_users
from keys.cache import signing_keys
from mail.outbox import MailState, OutgoingMail
from sso.models import IdentityProvider
from throttling.models import Lockout
from worker import jobs
from worker.models import ROUND, Heartbeat

logger = logging.getLogger(__name__)


class ServiceCollector:
    """Collects the counts of all gunicorn's processes, and the state at this moment."""

    def collect(self) -> Iterator[Metric]:
        yield from MultiProcessCollector(None).collect()
        build = {"version": settings.VERSION, "commit": settings.COMMIT}
        build["python"] = platform.python_version()
        yield InfoMetricFamily("build", "The service's version and commit, and Python's.", build)
        down = float(not could_read_users(int(time.monotonic())))
        yield Gauge("database_unavailable", "1 while requests cannot read the database.", down)
        try:
            yield from state_of_keys()
            yield from state_of_database()  # all or none, since missing ones would look like zeros
        except Error as error:
            logger.warning("no metrics from the database: %s", type(error).__name__)


def state_of_keys() -> list[Metric]:
    """The gauges of signing keys and of this host's clock, from this process's copy of the keys.
    The age is left out if this host can decrypt no key. Raises OperationalError while this process
    has read no key."""
    now, keys, signer = time.time(), signing_keys.current().values(), signing_keys.signer
    age = now - signer.signs_from.timestamp() if signer else None
    waits = [key.signs_from.timestamp() - now for key in keys]
    next_wait = min((wait for wait in waits if wait > 0), default=-1)
    unreadable_keys, seconds_ahead = len(signing_keys.unreadable_kids()), signing_keys.seconds_ahead
    return [
        Gauge("signing_key_age_seconds", "Since the current key began to sign.", age),
        Gauge("next_signing_key_seconds", "Until the next key signs; -1 for none.", next_wait),
        Gauge("signing_keys_unreadable", "Keys that this host can't decrypt.", unreadable_keys),
        Gauge("clock_ahead_seconds", "This host's clock, ahead of the database's.", seconds_ahead),
    ]


def state_of_database() -> list[Metric]:
    """The gauges of mails, lockouts, providers, the feed and jobs, from the database. Raises
    `django.db.Error` while it is unavailable. -1 stands for a job that never ran."""
    now, mails = time.time(), OutgoingMail.objects
    queue, states = mails.measure_queue(), mails.count_of_last_hour()
    recent_mails = Gauge("mails_of_last_hour", "Mails of the last hour by state.", labels=["state"])
    for state in MailState.values:
        recent_mails.add_metric([state], states.get(state, 0))
    longest = queue.longest.total_seconds()
    locked_count = Lockout.objects.locked()[:MAX_COUNTED_ROWS].count()
    held_back = held_back_seconds()
    failing_count = IdentityProvider.objects.count_failing()
    silence = {beat.name: now - beat.at.timestamp() for beat in Heartbeat.objects.all()}
    jobs_silent = Gauge("job_silent_seconds", "Since the worker's job last ran.", labels=["name"])
    for name in jobs.jobs_by_name:
        jobs_silent.add_metric([name], silence.get(name, -1))
    return [
        Gauge("mails_waiting", "Mails that are due, 10,000 at most.", queue.due),
        Gauge("mails_oldest_waiting_seconds", "How long the oldest has been due.", longest),
        Gauge(
            "mails_put_off",
            "Mails that are due later, most after a failure.",
            queue.put_off,
        ),
        recent_mails,
        Gauge("mails_given_up", "Mails given up in about the last hour.", mails.count_given_up()),
        Gauge("mail_worker_silent_seconds", "Since a worker's last round.", silence.get(ROUND, -1)),
        Gauge("prune_silent_seconds", "Since a worker last pruned.", silence.get("prune", -1)),
        jobs_silent,
        Gauge(
            "locked_addresses", "Lockouts now, by address and device; 10,000 at most.", locked_count
        ),
        Gauge(
            "sso_providers_failing",
            "Active providers down for an hour, with a failed sign-in in the last hour.",
            failing_count,
        ),
        Gauge("events_held_back_seconds", "Age of the first event not shown yet.", held_back),
    ]


class MetricsView(BaseView):
    """GET /metrics, for the scraper, whose bearer token is METRICS_TOKEN."""

    schema = None

    def get(self, request: Request) -> HttpResponse:
        authorization = request.headers.get("Authorization", "")
        if not constant_time_compare(authorization, f"Bearer {settings.METRICS_TOKEN}"):
            raise NotAuthenticated
        return HttpResponse(generate_latest(ServiceCollector()), content_type=CONTENT_TYPE_LATEST)
