"""Actor: who acts on users, companies and other rows, and whether they may."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied


class Actor:
    """Who acts. A model whose rows act inherits from this class, and has a foreign key `account` to
    the company."""

    pk: Any  # the id, which the audit log stores; None for a command
    email: Any  # the address, or another name, for the audit log; "" for a command
    account_id: Any  # the company's id; None for a command
    is_superuser: Any  # whether the actor may act on every row
    language: Any  # of mails that the actor causes
    may_make_admins = True
    log_field = "user"  # under which log lines have the id

    def get_full_name(self) -> str:
        """The name to show to people; "" if the actor has none."""
        raise NotImplementedError

    def can_manage(self, *rows: Any) -> bool:
        """Whether no row's protection keeps the actor from acting on it: only superusers and
        commands may act on a row that `is_protected`. None in place of a row is ignored. The caller
        has checked the actor's role and company."""
        return self.is_superuser or not any(row and row.is_protected for row in rows)

    def require_can_manage(self, *rows: Any) -> None:
        """Raise Django's PermissionDenied (403) unless the actor `can_manage` these rows."""
        if not self.can_manage(*rows):
            raise PermissionDenied

    def require_can_manage_email(self, email: str) -> None:
        """Raise Django's PermissionDenied (403) if a user with the canonical address can't be
        managed."""
        if not self.is_superuser:
            self.require_can_manage(get_user_model().objects.filter(email=email).first())

    def name_for(self, reader: "Actor") -> str:
        """The actor's name, or else address, if the reader belongs to the same company; otherwise
        "": customers see no names of support staff."""
        if self.account_id != reader.account_id:
            return ""
        return self.get_full_name() or str(self.email)

    def names_of(self, ids: Collection[UUID | None]) -> dict[UUID | None, str]:
        """The full names, by id, of the users and API keys with these ids in this actor's company.
        Other ids, and None, are ignored."""
        return {
            actor.pk: actor.get_full_name()
            for model in apps.get_models()
            if issubclass(model, Actor)
            for actor in model._default_manager.filter(account=self.account_id, pk__in=ids)
        }


class CommandActor(Actor):
    """A command or the service itself. It may act on every row, and has no name."""

    pk = account_id = None
    email = ""
    is_superuser = True

    def get_full_name(self) -> str:
        return ""


COMMAND = CommandActor()
