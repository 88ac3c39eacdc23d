"""Who may act on whom, by whatever way: REST, MCP, the pages and actions of the back office.

Only a superuser acts on staff, on superusers, and on the operators' company and all that is its
own. The models ask where the act is done; whoever acts without being a user runs a command.
"""

from typing import Protocol

from django.core.exceptions import PermissionDenied


class Protectable(Protocol):
    """What is acted on: a user, a company, or what belongs to one."""

    @property
    def is_protected(self) -> bool:
        """Whether only a superuser may."""


class Authority:
    """A user as somebody who acts."""

    is_superuser: bool

    def may_act_on(self, *rows: Protectable | None) -> bool:
        """Whether the user may act on all of these."""
        return self.is_superuser or not any(row and row.is_protected for row in rows)

    def check_reach(self, *rows: Protectable | None) -> None:
        """Raise PermissionDenied (403) unless the user may act on all of these."""
        if not self.may_act_on(*rows):
            raise PermissionDenied
