"""The guide's figures on what each table grows to, held against the tables as they are."""

import re

from tests.config.guide import GUIDE
from tests.conftest import query

SLACK = 400_000  # bytes: pages that a small table and its indexes have, and what VACUUM leaves
DEAD_LINK = "expires_at < now() - interval '30 days 1 hour'"
# Which rows of a table are none any more once `prune` has run: the guide's column "kept".
GONE = {
    "audit_record": "at < now() - interval '100 days 1 hour'",  # AUDIT_KEEP_DAYS here
    "audit_recordbudget": "begun_at < now() - interval '1 day 1 hour'",
    "throttling_lockout": "failed_at < now() - interval '1 day 1 hour'"
    " AND (locked_until IS NULL OR locked_until < now())",
    "mail_mailbudget": "begun_at < now() - interval '1 day 1 hour'",
    "mail_outgoingmail": "created_at < now() - CASE state WHEN 'dropped' THEN interval '25 hours'"
    " ELSE interval '33 days' END",
    "signin_signuplink": DEAD_LINK,
    "passwords_passwordchange": DEAD_LINK,
    "signin_unlocklink": DEAD_LINK,
    "invitations_invitation": DEAD_LINK,
    "emailchanges_emailchange": DEAD_LINK,
    "emailchanges_undoemailchange": DEAD_LINK,
    "signin_usedchallenge": "used_at < now() - interval '70 minutes'",
    "privacy_exportbudget": "begun_at < now() - interval '1 day 1 hour'",
    "assistants_client": "created_at < now() - interval '25 hours'"
    " AND NOT EXISTS (SELECT FROM assistants_grant g WHERE g.client_id = assistants_client.id)",
    "assistants_grant": "created_at < now() - interval '60 days 1 hour'"
    " OR ended_at < now() - interval '30 days 1 hour'"
    " OR redeemed_at IS NULL AND created_at < now() - interval '25 hours'",
}


def figures():
    """The most bytes of a row of each table of the guide, and whether its rows go in the end."""
    found = {}
    part = GUIDE.partition("| table | bytes a row |")[2].partition("\n\n")[0]
    for line in part.splitlines()[2:]:
        names, size, _, kept = line.strip("|").rsplit("|", 3)
        most = max(int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", size))
        for name in re.findall(r"`(\w+)`", names):
            found[name] = most, "for good" not in kept
    return found


def too_old(url):
    """How many rows there are in which table that should have gone."""
    kept = {name for name, (_, goes) in figures().items() if goes}
    assert kept == GONE.keys()
    counts = {
        name: query(url, f"SELECT count(*) FROM {name} WHERE {gone}")[0][0]
        for name, gone in GONE.items()
    }
    return {name: count for name, count in counts.items() if count}


def rows(url):
    counts = (f"SELECT '{name}', count(*) FROM {name}" for name in figures())
    return dict(query(url, " UNION ALL ".join(counts)))


def too_large(url, most_rows):
    """Which tables take more room than the guide's bytes for the most rows that they ever had."""
    found = {}
    for name, (size, _) in figures().items():
        is_large = query(url, f"SELECT pg_total_relation_size('{name}')")[0][0]
        if is_large > most_rows[name] * size + SLACK:
            found[name] = f"{is_large} bytes of {most_rows[name]} rows"
    return found
