"""Every series that the service counts, for Prometheus; each app counts what happens in it.

Labels take a few known values: no address, e-mail, id or path of a caller's goes into one. Over
several processes the official client adds the counts up (`PROMETHEUS_MULTIPROC_DIR`, which
gunicorn.conf.py sets); elsewhere they stand in the process's memory and cost a microsecond.
"""

import functools

from prometheus_client import Counter, Gauge, Histogram

BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds

requests = Histogram(
    "http_request_duration_seconds",
    "Requests by route, method and status, and how long they took.",
    ["route", "method", "status"],
    buckets=BUCKETS,
)
decisions = Counter(
    "limiter_decisions",
    "Requests by tier and outcome: allowed, refused, would_refuse (in a dry run), uncounted (let "
    "through while Redis is unavailable) or in_process.",
    ["tier", "outcome"],
)
callers_refused = Counter(
    "limiter_callers_refused", "Callers that were refused, each counted once a window.", ["tier"]
)
for tier in ("authenticated", "public", "credential"):  # from zero on, or alerts miss the first
    callers_refused.labels(tier)
# The two of every request are looked up once for each set of labels: 5 µs a request less.
request = functools.cache(requests.labels)
decision = functools.cache(decisions.labels)
store_failures = Counter(
    "limiter_store_failures", "Questions that the limiter's store left unanswered.", ["reason"]
)
store_lost = Gauge(
    "limiter_store_lost", "1 while the limiter's store is lost.", multiprocess_mode="livemax"
)
events = Counter("audit_events", "Events of the audit log.", ["kind"])
sign_ins = Counter("sign_ins", "Sign-ins by method: what was shown.", ["method"])
wrong_codes = Counter(
    "wrong_second_factors", "Right passwords with a wrong code or passkey.", ["method"]
)
for shown in ("totp", "recovery_code", "passkey"):  # from zero on, or alerts miss the first ones
    wrong_codes.labels(shown)
log_lines_dropped = Counter(
    "log_lines_dropped", "Log lines that were dropped because the reader of the log is too slow."
)
hashing = Gauge(
    "password_hashes",
    "Hashes being made now, and callers waiting for a turn.",
    ["state"],
    multiprocess_mode="livesum",
)
