"""Reports errors to Sentry: only what failed, and where in the code."""

from typing import Any

import sentry_sdk

from base.caller import current_caller
from base.urls import without_fragment

REPORTED_FIELDS = ["event_id", "timestamp", "level", "platform", "release", "server_name"]
REPORTED_FIELDS += ["logger", "exception", "logentry"]


def start_reporting(dsn: str, release: str) -> None:
    """Start to report errors to this DSN, as of this release."""
    sentry_sdk.init(
        dsn,
        release=release,
        include_local_variables=False,
        auto_enabling_integrations=False,
        before_send=without_personal_data,  # type: ignore[arg-type]
    )


def without_personal_data(event: dict[str, Any], hint: object) -> dict[str, Any]:
    """Sentry's `before_send`: the event's REPORTED_FIELDS, without the texts of exceptions, which
    may quote a row, and the log message without its arguments and fragments of URLs. By the tag
    `request_id` operators find the log line."""
    reported = {name: event[name] for name in REPORTED_FIELDS if name in event}
    for exception in reported.get("exception", {}).get("values", []):
        exception["value"] = ""
    if "logentry" in reported:
        reported["logentry"] = {"message": without_fragment(reported["logentry"]["message"])}
    return reported | {"tags": {"request_id": current_caller.get().request_id or "-"}}
