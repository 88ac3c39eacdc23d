"""Actions that hurt ask first: a page that says what comes of it, and a POST that says yes."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

SHOWN = 10  # rows that the question names
# What the answer sends once more: which action, on which rows.
REPEATED = ("action", "select_across", "index", "_do", ACTION_CHECKBOX_NAME)
Action = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]


class AskingAdmin(admin.ModelAdmin):
    """What the site puts before every ModelAdmin: each way to an action, a list's or a button's,
    takes it from `get_actions`, so none goes round the question."""

    asks_first: ClassVar[dict[str, Any]] = {}  # by an action's name: what comes of it

    def get_actions(self, request: HttpRequest) -> Any:
        actions: Any = super().get_actions(request)
        return {
            name: (asking(action, words) if name in self.asks_first else action, name, words)
            for name, (action, _, words) in actions.items()
        }


def asking(action: Action, words: str) -> Action:
    @wraps(action)
    def ask(site: Any, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse | None:
        if request.POST.get("post") == "yes":
            return action(site, request, rows)
        return question(site, request, rows, words)

    return ask


def question(site: Any, request: HttpRequest, rows: QuerySet[Any], words: str) -> HttpResponse:
    name = request.POST.get("_do") or request.POST["action"]
    context = site.admin_site.each_context(request) | {
        "title": f"{words.partition(':')[0]}?",
        "consequence": site.asks_first[name],
        "count": rows.count(),
        "rows": rows[:SHOWN],
        "repeated": [(key, value) for key in REPEATED for value in request.POST.getlist(key)],
        "words": words.partition(":")[0],
        "opts": site.opts,
    }
    return TemplateResponse(request, "backoffice/question.html", context)
