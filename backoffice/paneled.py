"""A page of the back office that shows facts about its row, and offers what can be done."""

from typing import Any, ClassVar, cast

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from accounts.errors import LastAdmin
from accounts.models import User
from audit.admin import LargeTableAdmin
from backoffice.asking import AskingAdmin


def caller(request: HttpRequest) -> User:
    return cast(User, request.user)


class PanelAdmin(AskingAdmin, LargeTableAdmin):
    """A ModelAdmin whose page shows a panel of facts, and the list's actions as buttons."""

    buttons: ClassVar[list[str]] = []  # names of actions, in order

    def panel(self, row: Any) -> dict[str, Any]:
        """What the page's template shows of the row, as `panel`."""
        raise NotImplementedError

    def erase(self, request: HttpRequest, row: Any) -> str:
        """Erase what the page is about; what the caller is told."""
        raise NotImplementedError

    def may_erase(self, request: HttpRequest, row: Any) -> bool:
        return caller(request).is_superuser and row != request.user

    def erase_confirmed(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Erase for a superuser, who has typed the address or name of what goes; of the others
        nobody is even asked."""
        row = self.get_object(request, object_id)
        if row is None or not self.may_erase(request, row):
            raise PermissionDenied
        if request.POST.get("confirmed", "").strip() != str(row):
            said = gettext("Nothing was erased: type %(row)s.") % {"row": row}
            self.message_user(request, said, messages.ERROR)
            return redirect(request.path)
        try:
            self.message_user(request, self.erase(request, row))
        except LastAdmin as error:
            said = gettext("%(row)s: %(why)s. Make somebody else an admin, or delete the company.")
            facts = {"row": row, "why": gettext(str(error.detail))}
            self.message_user(request, said % facts, messages.ERROR)
            return redirect(request.path)
        return redirect("admin:index")

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        pressed = request.POST.get("_do", "")
        if pressed == "erase":
            return self.erase_confirmed(request, object_id)
        if pressed:
            return self.press(request, object_id, pressed)
        row = self.get_object(request, object_id)
        context: dict[str, Any] = extra_context or {}
        if row is not None:
            offered = self.offered(request, row)
            context["panel"] = self.panel(row)
            context["buttons"] = [one for one in offered if one[0] not in self.asks_first]
            context["dangers"] = [one for one in offered if one[0] in self.asks_first]
            context["may_erase"] = self.may_erase(request, row)
        return super().change_view(request, object_id, form_url, context)

    def press(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Take one of the list's actions with this row; `get_actions` knows who may, and which of
        them ask first."""
        row = self.get_object(request, object_id)
        if not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        action = self.get_actions(request).get(name) if name in self.buttons else None
        if row is None or action is None:
            return redirect(request.path)
        asked = action[0](self, request, self.get_queryset(request).filter(pk=row.pk))
        return asked or redirect(request.path)

    def offered(self, request: HttpRequest, row: Any) -> list[tuple[str, str]]:
        """The buttons' names and words; none where the caller may not act on the row."""
        if row != request.user and not caller(request).may_act_on(row):
            return []
        actions: Any = self.get_actions(request)
        return [(name, actions[name][2]) for name in self.buttons if name in actions]
