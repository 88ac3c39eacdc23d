"""The rules of companies' identity providers that `accounts` asks. `sso`, which stands above it,
registers them in AppConfig.ready."""

from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from accounts.models import Account, User


class ProviderRules(Protocol):
    def annotations(self) -> dict[str, Any]:
        """The expressions of `must_use_provider` and `provider_tag`, for a statement about users.
        Both are those of the attributes of `User`."""

    def must_be_used_by(self, user: "User") -> bool:
        """Whether the company requires a user with these values, who need not be stored, to sign in
        at its provider."""

    def session_tag_of(self, account_id: UUID) -> str | None:
        """What the tokens of sessions that begin at the company's provider have as `provider`; None
        without a provider."""

    def is_required_by(self, account_id: UUID) -> bool:
        """Whether the company requires its provider."""

    def find_required_for(self, email: str) -> "Account | None":
        """The company that has proved the address's domain and requires its provider."""

    def require_break_glass_admin(self, account_id: UUID) -> None:
        """Raise LastBreakGlassAdmin if the company requires its provider, and no admin could sign
        in otherwise. In a transaction that has locked the company and changed a user."""


rules: ProviderRules
