"""One search over all that a caller may be known by: each kind as its own list finds it.

A kind is there for those who may look at its list, and "show all" leads to that list with the same
words. Whose email is what was typed stands first.
"""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext

from accounts.models import Account, User
from accounts.search import cut
from audit.counting import count_of, said
from invitations.models import Invitation
from mail.emails import canonical_email
from mail.outbox import OutgoingMail
from signin.models import SignupLink
from throttling.models import Lockout

SHOWN = 10  # of each kind


@dataclass
class Kind:
    """Rows of one model that were found: those to show, and how many there are."""

    title: str
    rows: list[tuple[str, str, str]]  # the URL of its page, its name, how it stands
    more: bool
    count: str  # "over 10,000" where nobody counts on
    everything: str  # the URL of the list


def found(request: HttpRequest) -> dict[str, Any]:
    """`q`, the `kinds` that the caller may look at, and whether there is `nothing` in any; empty
    where nothing is sought."""
    text = cut(request.GET.get("q", ""))
    if not text:
        return {}
    kinds = [kind for model in SOUGHT if (kind := sought(request, model, text))]
    return {"q": text, "kinds": kinds, "nothing": not any(kind.rows for kind in kinds)}


def sought(request: HttpRequest, model: type[Any], text: str) -> Kind | None:
    """At most three queries; none, and None, for who may not look at the model."""
    site = admin.site.get_model_admin(model)
    if not site.has_view_permission(request):
        return None
    words = text.lower()  # emails are, and what looks at names looks past case
    rows, several = site.get_search_results(request, site.get_queryset(request), words)
    joined: Any = site.list_select_related or []
    rows = (rows.distinct() if several else rows).select_related(*joined)
    shown, more = first(rows.order_by(*site.get_ordering(request) or model._meta.ordering), text)
    title = str(model._meta.verbose_name_plural)
    page = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    listed = [
        (
            reverse(f"{page}_change", args=[row.pk]),
            str(SOUGHT[model][0](row)),
            SOUGHT[model][1](row),
        )
        for row in shown
    ]
    everything = f"{reverse(f'{page}_changelist')}?{urlencode({'q': words})}"
    count = said(count_of(rows)) if more else str(len(shown))
    return Kind(title, listed, more, count, everything)


def first(rows: QuerySet[Any], text: str) -> tuple[list[Any], bool]:
    """The first rows, exact matches before the others; and whether there are more."""
    exact, listed = exactly(rows.model, text), []
    if exact is not None:
        listed = list(rows.filter(exact)[: SHOWN + 1])
        rows = rows.exclude(exact)
    listed += rows[: SHOWN + 1 - len(listed)]
    return listed[:SHOWN], len(listed) > SHOWN


def exactly(model: type[Any], text: str) -> Q | None:
    """What is called precisely so; None where nothing is."""
    if model is Account:
        return Q(name__iexact=text)
    try:
        return Q(email=canonical_email(text))
    except ValidationError:  # no whole email
        return None


def standing(user: User) -> str:
    state = "" if user.is_active else ", " + gettext("deactivated")
    return f"{user.get_full_name()} · {user.account}, {user.get_role_display()}{state}"


def end_of_link(link: SignupLink) -> str:
    if link.used_at:
        return gettext("used")
    return gettext("open") if link.is_live() else gettext("expired")


def fate(mail: OutgoingMail) -> str:
    said = f"{mail.kind_name}, {mail.get_state_display()}"
    return f"{said}: {gettext(mail.problem)}" if mail.problem else said


def lock(lockout: Lockout) -> str:
    if not lockout.is_locked():
        return gettext("not locked, failures: %(count)s") % {"count": lockout.failures}
    return gettext("locked until %(when)s UTC") % {"when": f"{lockout.locked_until:%H:%M:%S}"}


def begin(account: Account) -> str:
    return gettext("since %(day)s") % {"day": f"{account.created_at:%Y-%m-%d}"}


def offer(invitation: Invitation) -> str:
    facts = {"status": invitation.status.label, "company": invitation.account}
    return gettext("%(status)s, to %(company)s") % facts


def email(row: Any) -> str:
    return str(row.email)


# How a row of each is called, and how it stands.
SOUGHT: dict[type[Any], tuple[Any, Any]] = {
    User: (email, standing),
    Account: (str, begin),
    Invitation: (email, offer),
    SignupLink: (email, end_of_link),
    OutgoingMail: (email, fate),
    Lockout: (email, lock),
}
