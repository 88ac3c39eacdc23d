"""What is wrong with somebody who calls, in one sentence: the first of these that holds."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from mail.budget import HOUR, MailBudget
from mail.links import EmailedLink
from mail.outbox import State
from throttling.limiter import RedisUnavailable, limiter

TIER = "authenticated"  # the one in which a person's calls are counted


class Finding(NamedTuple):
    state: str  # "bad", "wait" or "good"
    words: str


def diagnose(user: User, panel: dict[str, Any]) -> Finding:
    """The sentence on top of a person's page; `panel` is `panels.of_user`'s.

    Reads at most two tables beside it, and asks Redis where all before is well.
    """
    return next(findings(user, panel))


def findings(user: User, panel: dict[str, Any]) -> Iterator[Finding]:
    checks: list[Callable[[User, dict[str, Any]], Finding | None]]
    checks = [inactive, locked, at_a_limit, mail_refused, link_expired, other_company]
    for check in checks:
        if found := check(user, panel):
            yield found
    last = user.last_sign_in_at
    said = gettext("All is well: active, not locked, no mail refused; has not signed in yet.")
    if last:
        said = gettext(
            "All is well: active, not locked, no mail refused; last signed in on %(when)s."
        )
    yield Finding("good", said % {"when": minute(last)} if last else said)


def minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def inactive(user: User, panel: dict[str, Any]) -> Finding | None:
    if user.is_active:
        return None
    said = gettext("Deactivated: cannot sign in until somebody activates the account.")
    return Finding("bad", said)


def locked(user: User, panel: dict[str, Any]) -> Finding | None:
    lockout = panel["lockout"]
    if not lockout or not lockout.is_locked():
        return None
    facts = {"until": f"{lockout.locked_until:%H:%M:%S} UTC", "failures": lockout.failures}
    said = gettext("Locked until %(until)s, after %(failures)s failures: unlock, or wait.")
    return Finding("bad", said % facts)


def at_a_limit(user: User, panel: dict[str, Any]) -> Finding | None:
    return mails_asked_for(user) or calls_made(user)


def mails_asked_for(user: User) -> Finding | None:
    """Mails of a kind beyond the hour's are dropped without a word."""
    most = {
        f"{kind._meta.label_lower} {user.email}": (kind.per_hour, str(kind._meta.verbose_name))
        for kind in EmailedLink.kinds()
    }
    since = timezone.now() - HOUR
    for budget in MailBudget.objects.filter(name__in=most, begun_at__gt=since).order_by("-used"):
        limit, name = most[budget.name]
        limit = limit or settings.MAIL_PER_ADDRESS_PER_HOUR
        if budget.used > limit:
            facts = {"used": budget.used, "kind": name, "limit": limit}
            facts["ends"] = minute(budget.begun_at + HOUR)
            said = gettext(
                "At a limit: %(used)s mails were asked for (%(kind)s), %(limit)s an hour go out. "
                "The next does after %(ends)s."
            )
            return Finding("wait", said % facts)
    return None


def calls_made(user: User) -> Finding | None:
    """None also where processes count by themselves, or while Redis is unavailable."""
    try:
        used, seconds = limiter.look_up(f"user:{user.pk}").get(TIER, (0, 0))
    except RedisUnavailable:
        return None
    if used < settings.RATE_LIMIT_AUTHENTICATED:
        return None
    said = gettext("At a limit: %(used)s calls in this window, which ends in %(seconds)s s.")
    return Finding("wait", said % {"used": used, "seconds": seconds})


def mail_refused(user: User, panel: dict[str, Any]) -> Finding | None:
    last = next((mail for mail in panel["mails"] if mail.state != State.DROPPED), None)
    if last is None or last.state not in {State.REFUSED, State.FAILED}:
        return None
    how = last.get_state_display() + (f" ({gettext(last.problem)})" if last.problem else "")
    said = gettext("The last mail, of %(when)s, was %(how)s: is the address right?")
    return Finding("bad", said % {"when": minute(last.created_at), "how": how})


def link_expired(user: User, panel: dict[str, Any]) -> Finding | None:
    """The newest password link, unless the person has come in since."""
    link = panel["last_link"]
    if link is None or link.used_at or link.is_live():
        return None
    if user.last_sign_in_at and user.last_sign_in_at > link.created_at:
        return None
    said = gettext("The last password link expired on %(when)s, unused: send another.")
    return Finding("wait", said % {"when": minute(link.expires_at)})


def other_company(user: User, panel: dict[str, Any]) -> Finding | None:
    """An open invitation to where the address cannot come in."""
    others = [one for one in panel["invitations"] if one.account_id != user.account_id]
    if not others:
        return None
    said = gettext(
        "Belongs to %(company)s; %(other)s has invited the same address, which cannot be accepted: "
        "an address has one company."
    )
    return Finding("wait", said % {"company": user.account, "other": others[0].account})
