"""One search over users, companies, invitations, sign-ups, mails and lockouts.

Each kind is searched as its own list is, and shown to staff who may view that list; "Show all"
leads there. Rows with exactly the address that was searched for are shown alone.
"""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models import Account, User
from backoffice.panels import format_minute
from base.emails import search_words
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from signin.models import SignupLink
from throttling.models import Lockout

SHOWN = 10  # of each kind


def search_context(request: HttpRequest) -> dict[str, Any]:
    """`q`, the `kinds` that the caller may view, and whether `nothing` was found; empty without a
    query."""
    text = " ".join(search_words(request.GET.get("q", "")))
    if not text:
        return {}
    kinds = [kind for model in SEARCHED if (kind := search_model(request, model, text))]
    return {"q": text, "kinds": kinds, "nothing": not any(kind["rows"] for kind in kinds)}


def search_model(request: HttpRequest, model: type[Any], text: str) -> dict[str, Any] | None:
    """`title`, `rows` (each row's URL, name and state in words) and `everything`, the URL of the
    list. Two queries at most. None without the permission to view the model."""
    site: Any = admin.site.get_model_admin(model)
    if not site.has_view_permission(request):
        return None
    words = text.lower()  # addresses are in lower case; names match in any
    found, _ = site.get_search_results(request, site.get_queryset(request), words)
    rows = found.select_related(*(site.list_select_related or []))
    is_address = model is not Account and "@" in text
    shown = (is_address and rows.filter(email=text)[:SHOWN]) or rows[:SHOWN]
    page, describe = f"admin:{model._meta.app_label}_{model._meta.model_name}", SEARCHED[model]
    listed = [
        (reverse(f"{page}_change", args=[row.pk]), getattr(row, "email", None) or str(row), state)
        for row, state in ((row, describe(row)) for row in shown)
    ]
    everything = f"{reverse(f'{page}_changelist')}?{urlencode({'q': words})}"
    return {"title": site.list_title(), "rows": listed, "everything": everything}


def describe_mail(mail: OutgoingMail) -> str:
    text = f"{mail.kind_name}, {mail.get_state_display()}"
    return f"{text}: {mail.problem}" if mail.problem else text


def describe_lockout(lockout: Lockout) -> str:
    if lockout.is_locked():
        return f"locked until {format_minute(lockout.locked_until)}"
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
