"""An act: who may do it to whom, and how it is done.

A worked example, what `back_office.py` makes of the action "Try again" of the list of mails:

    Act(
        "outgoing mail: try_again",               # its name in the lines of a failure
        take_action(OutgoingMail, "try_again"),   # does it: do(browser, actor, target)
        keys(("change", OutgoingMail)),           # support staff need this permission
        own=SUPERUSER,                            # on their own row, superusers alone may do it
    )

`targets` is left out, so everybody in PEOPLE is a target in turn; `who` is left out, so staff and
superusers do it. `before` would set the target's columns first, so that the act changes something;
`or_keys` would be permissions that are of use instead of `keys`; `never` names targets on whom
no actor does it. `test_authority.py` lets every kind of actor do it to every target, and compares
the rows before and after: whoever changes something that the fields don't allow, or can't do what
they allow, is a line of the failure.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from accounts.models import User

Do = Callable[[Any, User, Any], Any]
PEOPLE = ["member", "admin", "staff", "superuser", "operators", "other", "self"]
COMPANIES = ["customer", "operators"]
PROTECTED = {"staff", "superuser", "operators"}  # only a superuser acts on these
ANYBODY, SUPERUSER, NOBODY = {"staff", "superuser"}, {"superuser"}, set[str]()
CUSTOMERS = tuple(COMPANIES)


def perm(what, model):
    return f"{model._meta.app_label}.{what}_{model._meta.model_name}"


@dataclass(frozen=True)
class Act:
    """`do` takes the act, as the actor, on a target; those do who have all of `keys`, or of
    `or_keys`, or are superusers. `own` says which of them do it to themselves, and `never` to
    whom none of them does."""

    name: str
    do: Do
    keys: frozenset[str] = frozenset()
    own: set[str] = field(default_factory=lambda: ANYBODY)
    targets: tuple[str, ...] = tuple(PEOPLE)
    before: dict[str, Any] = field(default_factory=dict)  # the target's columns, so that it changes
    who: set[str] = field(default_factory=lambda: ANYBODY)
    or_keys: frozenset[str] = frozenset()  # of use as well as `keys`; an empty set is of none
    never: set[str] = field(default_factory=lambda: NOBODY)

    def opens(self, held):
        return self.keys <= held or bool(self.or_keys and self.or_keys <= held)
