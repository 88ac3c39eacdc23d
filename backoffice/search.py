"""One search over all that a caller may be known by, each kind of row as its own list finds it.

A kind is shown to those who may view its list, and "show all" leads to that list with the same
words. An exact address or name comes first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models import Account, User, shorten_search
from audit.counting import count_of, format_count
from backoffice.panels import minute
from invitations.models import Invitation
from mail.emails import canonical_email
from mail.outbox import OutgoingMail
from signin.models import SignupLink
from throttling.models import Lockout

SHOWN = 10  # of each kind


@dataclass
class Results:
    """Rows of one model: those to show, and how many there are."""

    title: str
    rows: list[tuple[str, str, str]]  # the URL of its page, its name, its state in words
    more: bool
    count: str  # "over 10,000" beyond the bound
    everything: str  # the URL of the list


def search(request: HttpRequest) -> dict[str, Any]:
    """`q`, the `kinds` that the caller may view, and whether `nothing` was found; empty without a
    query."""
    text = shorten_search(request.GET.get("q", ""))
    if not text:
        return {}
    kinds = [kind for model in SEARCHED if (kind := search_model(request, model, text))]
    return {"q": text, "kinds": kinds, "nothing": not any(kind.rows for kind in kinds)}


def search_model(request: HttpRequest, model: type[Any], text: str) -> Results | None:
    """Three queries at most. None without the permission to view the model."""
    site: Any = admin.site.get_model_admin(model)
    if not site.has_view_permission(request):
        return None
    words = text.lower()  # addresses are, and names are compared without case
    rows, several = site.get_search_results(request, site.get_queryset(request), words)
    joined: Any = site.list_select_related or []
    rows = (rows.distinct() if several else rows).select_related(*joined)
    order = site.get_ordering(request) or model._meta.ordering
    shown, more = exact_first(rows.order_by(*order), text)
    page, describe = f"admin:{model._meta.app_label}_{model._meta.model_name}", SEARCHED[model]
    listed = [
        (reverse(f"{page}_change", args=[row.pk]), getattr(row, "email", None) or str(row), state)
        for row, state in ((row, describe(row)) for row in shown)
    ]
    everything = f"{reverse(f'{page}_changelist')}?{urlencode({'q': words})}"
    count = format_count(count_of(rows)) if more else str(len(shown))
    return Results(site.title(), listed, more, count, everything)


def exact_first(rows: QuerySet[Any], text: str) -> tuple[list[Any], bool]:
    """The first rows, exact matches before the others; and whether there are more."""
    exact, listed = exact_match(rows.model, text), []
    if exact is not None:
        listed = list(rows.filter(exact)[: SHOWN + 1])
        rows = rows.exclude(exact)
    listed += rows[: SHOWN + 1 - len(listed)]
    return listed[:SHOWN], len(listed) > SHOWN


def exact_match(model: type[Any], text: str) -> Q | None:
    if model is Account:
        return Q(name__iexact=text)
    try:
        return Q(email=canonical_email(text))
    except ValidationError:  # not a whole address
        return None


def describe_mail(mail: OutgoingMail) -> str:
    text = f"{mail.kind_name}, {mail.get_state_display()}"
    return f"{text}: {mail.problem}" if mail.problem else text


def describe_lockout(lockout: Lockout) -> str:
    if lockout.is_locked():
        return f"locked until {minute(lockout.locked_until)}"
    return f"not locked, failed attempts: {lockout.failures}"


SEARCHED: dict[type[Any], Callable[[Any], str]] = {
    User: lambda user: (
        f"{user.get_full_name()} · {user.account}, {user.get_role_display()}"
        f"{'' if user.is_active else ', deactivated'}"
    ),
    Account: lambda account: f"since {account.created_at:%Y-%m-%d}",
    Invitation: lambda invitation: f"{invitation.status.label}, to {invitation.account}",
    SignupLink: lambda link: "used" if link.used_at else "open" if link.is_live() else "expired",
    OutgoingMail: describe_mail,
    Lockout: describe_lockout,
}
