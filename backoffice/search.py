"""The search over users, companies, invitations, sign-ups, mails and lockouts. Each model is
searched as its own list is, for staff who may view that list."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from accounts.models import Account, User
from backoffice.panels import format_minute
from base.admin import address_or_name
from base.emails import MAX_SEARCH_LENGTH, search_words
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from signin.models import SignupLink
from throttling.models import Lockout

MAX_MATCHES = 10  # rows of each model


def search_context(request: HttpRequest) -> dict[str, Any]:
    """The query `q`, the `lists` of `search_model`, and `is_empty`, whether none of them has a row.
    Without a query, an empty dictionary."""
    text = " ".join(request.GET.get("q", "")[:MAX_SEARCH_LENGTH].replace("\0", " ").split())
    words = search_words(text)
    if not words:
        return {}
    if len(words) == 1 and "@" in words[0]:
        text = words[0]  # an address in its canonical form
    lists = [entry for model in DESCRIPTIONS if (entry := search_model(request, model, text))]
    return {"q": text, "lists": lists, "is_empty": not any(entry["rows"] for entry in lists)}


def search_model(request: HttpRequest, model: type[Any], text: str) -> dict[str, Any] | None:
    """What the list of the model, a key of DESCRIPTIONS, finds for `text`: the list's `title`,
    MAX_MATCHES `rows` at most, and `list_url`, where all are shown. Each row is a tuple of its
    page's URL, its address or else name, and its state. Rows whose address is exactly `text` leave
    out all others. Returns None if the caller may not view the model."""
    model_admin: Any = admin.site.get_model_admin(model)
    if not model_admin.has_view_permission(request):
        return None
    matches, _ = model_admin.get_search_results(request, model_admin.get_queryset(request), text)
    matches = matches.select_related(*(model_admin.list_select_related or []))
    is_address = model is not Account and "@" in text
    exact_matches = matches.filter(email=text)[:MAX_MATCHES] if is_address else None
    url_name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    rows = [
        (
            reverse(f"{url_name}_change", args=[row.pk]),
            address_or_name(row),
            DESCRIPTIONS[model](row),
        )
        for row in exact_matches or matches[:MAX_MATCHES]
    ]
    list_url = f"{reverse(f'{url_name}_changelist')}?{urlencode({'q': text})}"
    return {"title": model_admin.list_title(), "rows": rows, "list_url": list_url}


def describe_mail(mail: OutgoingMail) -> str:
    text = f"{mail.kind_name}, {mail.get_state_display()}"
    return f"{text}: {mail.problem}" if mail.problem else text


def describe_lockout(lockout: Lockout) -> str:
    if lockout.is_locked():
        return f"locked until {format_minute(lockout.locked_until)}"
    return f"not locked, failed attempts: {lockout.failures}"


# By model that is searched: describes the state of a row.
DESCRIPTIONS: dict[type[Any], Callable[[Any], str]] = {
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
