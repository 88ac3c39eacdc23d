"""All Prometheus series of the service; each app counts its own events.

Labels come from short, fixed lists: never a caller's address, e-mail, id or path. With several
processes the official client adds up their counts (`PROMETHEUS_MULTIPROC_DIR`, which
`metrics.processes` sets); otherwise the counts are kept in memory. Counting takes a microsecond.
"""

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
    "through while Redis is unavailable) or in_process (allowed by a count in process).",
    ["tier", "outcome"],
)
callers_refused = Counter(
    "limiter_callers_refused",
    "Refused callers, each once a window; a window counted in process counts in each process.",
    ["tier"],
)
requests.labels("auth/login", "POST", "503")  # from zero on: the alert LoginsQueue counts them
store_failures = Counter(
    "limiter_store_failures", "Failed calls of the limiter's store, by error.", ["reason"]
)
store_lost = Gauge(
    "limiter_store_lost", "1 while the limiter's store is unavailable.", multiprocess_mode="livemax"
)
events = Counter("audit_events", "Events of the audit log.", ["kind"])
sign_ins = Counter("sign_ins", "Sign-ins by method.", ["method"])
sso_sign_ins = Counter(
    "sso_sign_ins",
    "Sign-ins at companies' providers by outcome: ok, tested, confirmed, or the error's reason.",
    ["outcome"],
)
sso_failures = Counter(
    "sso_failures", "Events login.failed because of what a company's provider said or did."
)
wrong_codes = Counter(
    "wrong_second_factors", "Right passwords with a wrong code or passkey.", ["method"]
)
for method in ("totp", "recovery_code", "passkey"):  # each from zero on, for alerts
    wrong_codes.labels(method)
log_lines_dropped = Counter(
    "log_lines_dropped", "Log lines dropped because the reader of the log is too slow."
)
hashing = Gauge(
    "password_hashes",
    "Passwords being hashed now, and requests waiting for a slot.",
    ["state"],
    multiprocess_mode="livesum",
)
