"""Base classes of the back office's pages: rows that staff may edit, and pages with a panel of
facts and buttons."""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from rest_framework.exceptions import NotFound

import audit
from accounts.errors import LastAdmin
from accounts.models import User
from audit.models import Kind
from base.admin import OfficeAdmin
from base.emails import canonical_or_lower
from base.text import typed_form


def acting_user(request: HttpRequest) -> User:
    return cast(User, request.user)


def lock_or_refuse(rows: QuerySet) -> None:
    """Lock the selected row until the transaction ends, so that it stays until the page has saved
    it and what belongs to it. Raises PermissionDenied if no row is selected."""
    if not rows.select_for_update(no_key=True).exists():
        raise PermissionDenied


def is_name_of(text: str, row: Model) -> bool:
    """Whether the text is the row's name or address as a page shows it: browsers join spaces, and
    `readable_domain` writes domains in their letters."""
    return typed_form(text) == typed_form(str(row)) or canonical_or_lower(text) == str(row)


class EditableAdmin(OfficeAdmin):
    """Rows that staff with the model's permission may change; a protected row only superusers, and
    each user their own. Records each change in the audit log, in its transaction."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_allowed: bool = super().has_change_permission(request, obj)
        return is_allowed and (obj == request.user or acting_user(request).can_manage(obj))

    def formfield_for_dbfield(self, *args: Any, **options: Any) -> Any:
        """The field with the value that the page showed: a form's `changed_data` then leaves out
        what others have changed since."""
        return super().formfield_for_dbfield(*args, **options, show_hidden_initial=True)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save a new row, or the fields that differ from those that the page showed: what others
        have changed since stays. Raises PermissionDenied if the row was deleted meanwhile."""
        if change:
            lock_or_refuse(self.model._default_manager.filter(pk=obj.pk))
        obj.save(update_fields=form.changed_data if change else None)

    def log_addition(self, request: HttpRequest, obj: Model, message: object) -> Any:
        audit.record_row(Kind.ADMIN_ADDED, obj, actor=acting_user(request))

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        fields = [name for part in message for name in part.get("changed", {}).get("fields", [])]
        if message:  # empty if nothing was changed
            audit.record_row(Kind.ADMIN_CHANGED, obj, actor=acting_user(request), fields=fields)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet) -> Any:
        """Nothing: `delete_model` records a deletion, in its transaction."""

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete the row, and record that, with the values that others have saved since the page
        loaded it. Does nothing if another request has deleted it."""
        with transaction.atomic():
            rows = self.model._default_manager.select_for_update()
            row = rows.filter(pk=obj.pk).first()
            if row is not None:
                self.record_deletion(acting_user(request), row)
                super().delete_model(request, row)

    def record_deletion(self, actor: User, row: Any) -> None:
        """Record that the actor deletes this locked row."""
        audit.record_row(Kind.ADMIN_DELETED, row, actor=actor)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        with transaction.atomic():
            for row in queryset:
                self.delete_model(request, row)


class PanelAdmin(EditableAdmin):
    """A page with a panel of facts about a row, and the list's actions as buttons. These stand in a
    form of their own, so that Enter in a field saves the page."""

    # Numbers of the rows that an erasure deletes or changes, by what they are.
    erasure_counts: Callable[[Any], dict[str, str]]
    # The facts about a row for a viewer. `diagnosis`, if there, is a diagnosis.Diagnosis.
    panel_facts: Callable[[Any, User], dict[str, Any]]

    def actions_without_effect(self, request: HttpRequest, row: Any) -> set[str]:
        """Names of the actions that have no button, since they would change nothing."""
        return set()

    def may_erase(self, request: HttpRequest, row: Any) -> bool:
        return False

    def erase_row(self, request: HttpRequest, row: Any) -> str:
        """Erase the row; returns the message for the operator. Raises LastAdmin for a user who must
        stay, or ObjectDoesNotExist or NotFound if another request has erased the row."""
        raise NotImplementedError

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # rows that may be erased have a button

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the page, save its fields, or take the action whose button was pressed (`_do`),
        which answers with its confirmation page, or redirects back."""
        row = self.get_object(request, object_id)
        if row is None or not self.has_view_or_change_permission(request, row):
            # Django answers 403, or redirects if there is no such row.
            return super().change_view(request, object_id, form_url, extra_context)
        button = request.POST.get("_do")
        if button == "erase":
            return self.erase_view(request, row)
        if button:  # an action that the user's permissions don't allow is not in `get_actions`
            action = self.get_actions(request).get(button)
            rows = self.get_queryset(request).filter(pk=row.pk)
            confirmation = action[0](self, request, rows) if action else None
            return confirmation or redirect(request.get_full_path())
        panel = self.panel_facts(row, acting_user(request))
        main_action = panel["diagnosis"].action if "diagnosis" in panel else ""
        context = (extra_context or {}) | {
            "title": self.heading_of(row),
            "subtitle": None,
            "panel": panel,
            **self.action_buttons(request, row, main_action),
            "may_erase": self.may_erase(request, row),
            "show_save_and_add_another": False,
            "show_save_and_continue": False,
        }
        return super().change_view(request, object_id, form_url, context)

    def action_buttons(
        self, request: HttpRequest, row: Any, main_action: str
    ) -> dict[str, list[tuple[str, str]]]:
        """Names and texts of the actions that the caller can take on the row: `main_buttons` has
        the action `main_action` ("" for none), `danger_buttons` those that ask for confirmation,
        `buttons` the others."""
        groups: dict[str, list[tuple[str, str]]]
        groups = {"main_buttons": [], "danger_buttons": [], "buttons": []}
        if row != request.user and not acting_user(request).can_manage(row):
            return groups
        useless_actions = self.actions_without_effect(request, row)
        for name, (_, _, text) in self.get_actions(request).items():
            group = "danger_buttons" if name in self.asks_first else "buttons"
            group = "main_buttons" if name == main_action else group
            if name not in useless_actions:
                groups[group].append((name, text))
        return groups

    def erase_view(self, request: HttpRequest, row: Any) -> HttpResponse:
        """Show what would be deleted. Once the caller has typed the row's address or name
        (`confirmed`), erase it and redirect to the index. Raises PermissionDenied unless
        `may_erase`."""
        if not self.may_erase(request, row):
            raise PermissionDenied
        if "confirmed" not in request.POST:
            context = self.admin_site.each_context(request) | {
                "title": f"Erase {self.heading_of(row)}?",
                "name": str(row),
                "counts": self.erasure_counts(row),
                "opts": self.opts,
            }
            return TemplateResponse(request, "backoffice/erase.html", context)
        if not is_name_of(request.POST["confirmed"], row):
            messages.error(request, f"Nothing was erased. To erase, type {row}.")
            return redirect(request.get_full_path())
        try:
            messages.info(request, self.erase_row(request, row))
        except LastAdmin as error:
            messages.error(request, f"{row}: {error.detail}. {error.advice}")
            return redirect(request.get_full_path())
        except (ObjectDoesNotExist, NotFound):  # another operator was faster
            messages.error(request, f"{row} was already erased.")
        return redirect("admin:index")
