"""GET /metrics: the figures that operators watch, in Prometheus's text format.

There only with METRICS_TOKEN, which a scraper brings as its bearer token; not counted by the
limiter. Counts come from `metrics.series`; what the database and the keys say is looked up by a
fixed number of statements that read no more rows than are waiting or locked.
"""

import logging
import os
import platform
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta

from django.conf import settings
from django.db import Error
from django.http import HttpResponse
from django.utils.crypto import constant_time_compare
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from keys.cache import signing_keys
from keys.clock import seconds_ahead
from mail.heartbeat import Heartbeat
from mail.outbox import OutgoingMail, State
from throttling.models import Lockout
from throttling.views import JSONView

logger = logging.getLogger(__name__)


class StateCollector:
    """What is not counted but looked up at a scrape."""

    def collect(self) -> Iterator[Metric]:
        build = {"version": settings.VERSION, "commit": settings.COMMIT}
        build["python"] = platform.python_version()
        yield gauge("build_info", "The service's version and commit, and Python's.", 1, build)
        yield from key_series()
        try:
            # In whole before the first is given away: half of them would look like zeros.
            yield from list(database_series())
        except Error as error:
            logger.warning("no figures from the database: %s", type(error).__name__)


def gauge(name: str, help_text: str, value: float, labels: dict[str, str] | None = None) -> Metric:
    family = GaugeMetricFamily(name, help_text, labels=list(labels or {}))
    family.add_metric(list((labels or {}).values()), value)
    return family


def key_series() -> Iterator[Metric]:
    if not signing_keys.keys:
        return
    now, keys = time.time(), signing_keys.keys
    ages = {kid: now - key.signs_from.timestamp() for kid, key in keys.items()}
    if signing_keys.signer:
        age = ages[signing_keys.signer.kid]
        yield gauge("signing_key_age_seconds", "How long the signing key has signed.", age)
    seconds = min((-age for age in ages.values() if age < 0), default=-1)
    yield gauge("next_signing_key_seconds", "Until the next key signs; -1: there is none.", seconds)
    unreadable = "Signing keys that SECRET_KEY does not decrypt."
    yield gauge("signing_keys_unreadable", unreadable, len(signing_keys.unreadable()))


def database_series() -> Iterator[Metric]:
    mails = OutgoingMail.objects.queue()
    yield gauge("mails_waiting", "Mails that wait for nothing but to be sent.", mails.due)
    oldest = mails.longest.total_seconds()
    yield gauge("mails_oldest_waiting_seconds", "How long the first of them has; 0: none.", oldest)
    put_off = "Mails that have failed, and are tried again later."
    yield gauge("mails_put_off", put_off, mails.put_off)
    states = OutgoingMail.objects.count_of_last_hour()
    recent = "Mails that were asked for in the last hour, by state."
    family = GaugeMetricFamily("mails_of_last_hour", recent, labels=["state"])
    for state in State.values:
        family.add_metric([state], states.get(state, 0))
    yield family
    given_up = OutgoingMail.objects.count_given_up()
    yield gauge("mails_given_up", "Mails that were given up in the last hour.", given_up)
    worker = "Seconds since a mail worker last made a round; -1: never."
    yield gauge("mail_worker_silent_seconds", worker, silence("round"))
    yield gauge("prune_silent_seconds", "Since it last pruned; -1: never.", silence("prune"))
    locked = Lockout.objects.count_locked()
    yield gauge("locked_addresses", "E-mail addresses that are locked now.", locked)
    ahead = "How far this host's clock is ahead of the database's."
    yield gauge("clock_ahead_seconds", ahead, seconds_ahead())


def silence(name: str) -> float:
    """Seconds since the heartbeat of this name; -1 if there was none."""
    age = Heartbeat.objects.age(name)
    return -1 if age == timedelta.max else age.total_seconds()


def exposition(collectors: Iterable[StateCollector]) -> bytes:
    """All series in the text format; over all processes where they share a folder."""
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)
    else:
        registry.register(REGISTRY)
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry)


class MetricsView(JSONView):
    """GET /metrics, for callers with METRICS_TOKEN."""

    schema = None
    http_method_names = ["get", "head"]

    def get(self, request: Request) -> HttpResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        known = str(settings.METRICS_TOKEN)
        if scheme.lower() != "bearer" or not constant_time_compare(token, known):
            raise NotAuthenticated
        return HttpResponse(exposition([StateCollector()]), content_type=CONTENT_TYPE_LATEST)
