"""GET /metrics: the service's metrics, in Prometheus's text format.

Available only with METRICS_TOKEN, which is the scraper's bearer token; not rate-limited. Counters
come from `metrics.series`; the state of mails, lockouts and keys is looked up by a fixed number of
statements that read only waiting and locked rows.
"""

import logging
import platform
import time
from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db import Error
from django.http import HttpResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily as Gauge
from prometheus_client.core import InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from keys.cache import signing_keys
from mail.heartbeat import Heartbeat
from mail.outbox import OutgoingMail, State
from throttling.models import Lockout
from throttling.views import JSONView

logger = logging.getLogger(__name__)


class StateCollector:
    """The metrics that are looked up at each scrape."""

    def collect(self) -> Iterator[Metric]:
        build = {"version": settings.VERSION, "commit": settings.COMMIT}
        build["python"] = platform.python_version()
        yield InfoMetricFamily("build", "The service's version and commit, and Python's.", build)
        if signing_keys.keys:
            yield from key_series()
        try:
            # All are read before the first is yielded: half of them would look like zeros.
            yield from list(database_series())
        except Error as error:
            logger.warning("no metrics from the database: %s", type(error).__name__)


def key_series() -> Iterator[Metric]:
    now = time.time()
    ages = {kid: now - key.signs_from.timestamp() for kid, key in signing_keys.keys.items()}
    if signing_keys.signer:
        age = ages[signing_keys.signer.kid]
        yield Gauge("signing_key_age_seconds", "Since the current key began to sign.", age)
    following = min((-age for age in ages.values() if age < 0), default=-1)
    yield Gauge("next_signing_key_seconds", "Until the next key signs; -1 for none.", following)
    unreadable = len(signing_keys.unreadable())
    yield Gauge("signing_keys_unreadable", "Keys that SECRET_KEY does not decrypt.", unreadable)
    ahead = signing_keys.seconds_ahead
    yield Gauge("clock_ahead_seconds", "This host's clock, ahead of the database's.", ahead)


def database_series() -> Iterator[Metric]:
    mails = OutgoingMail.objects.queue()
    yield Gauge("mails_waiting", "Mails that are due.", mails.due)
    longest = mails.longest.total_seconds()
    yield Gauge("mails_oldest_waiting_seconds", "How long the oldest has been due.", longest)
    yield Gauge("mails_put_off", "Mails that failed and will be tried again later.", mails.put_off)
    recent = Gauge("mails_of_last_hour", "Mails of the last hour by state.", labels=["state"])
    states = OutgoingMail.objects.count_of_last_hour()
    for state in State.values:
        recent.add_metric([state], states.get(state, 0))
    yield recent
    given_up = OutgoingMail.objects.count_given_up()
    yield Gauge("mails_given_up", "Mails given up in the last hour.", given_up)
    yield Gauge("mail_worker_silent_seconds", "Since a worker's last round.", silence("round"))
    yield Gauge("prune_silent_seconds", "Since a worker last pruned.", silence("prune"))
    locked = Lockout.objects.count_locked()
    yield Gauge("locked_addresses", "E-mail addresses that are locked now.", locked)


def silence(name: str) -> float:
    """Seconds since the heartbeat of this name; -1 if there was none."""
    age = Heartbeat.objects.age(name)
    return -1 if age == timedelta.max else age.total_seconds()


class MetricsView(JSONView):
    """GET /metrics, for callers with METRICS_TOKEN."""

    schema = None

    def get(self, request: Request) -> HttpResponse:
        given = request.headers.get("Authorization", "")
        if not constant_time_compare(given, f"Bearer {settings.METRICS_TOKEN}"):
            raise NotAuthenticated
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # adds up the files of gunicorn's processes
        registry.register(StateCollector())
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
