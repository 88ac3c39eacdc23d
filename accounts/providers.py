"""What `accounts` must ask about companies' identity providers. `sso`, which may import `accounts`
but not the other way round, sets `rules` in its AppConfig.ready."""

from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from accounts.models import Account, User


class ProviderRules(Protocol):
    """Addresses are canonical."""

    def annotations(self) -> dict[str, Any]:
        """Expressions for `must_use_provider` and `provider_tag`, by which users are annotated."""

    def must_be_used_by(self, user: "User") -> bool:
        """Whether the user's company requires its provider, and has proved the domain of the user's
        address. False for staff, superusers and break-glass admins. The user need not be stored."""

    def session_tag_of(self, account_id: UUID) -> str | None:
        """The claim `provider` in the tokens of sessions that begin at the company's provider: ""
        for one that release 2.1 has set up, None if the company has no provider."""

    def is_required_by(self, account_id: UUID) -> bool:
        """Whether the company requires its provider."""

    def has_proved_domain(self, account_id: UUID, email: str) -> bool:
        """Whether the company has proved the domain of the address."""

    def find_required_for(self, email: str) -> "Account | None":
        """The company that has proved the domain of the address and requires its provider."""

    def require_break_glass_admin(self, account_id: UUID) -> None:
        """Raise LastBreakGlassAdmin if the company requires its provider and has no break-glass
        admin, after a change of a user in a transaction that has locked the company."""


rules: ProviderRules
