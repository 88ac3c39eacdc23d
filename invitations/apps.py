from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from accounts.models import User


class InvitationsConfig(AppConfig):
    name = "invitations"
    verbose_name = "Invitations"

    def ready(self) -> None:
        from accounts.models import stopped_inviting

        stopped_inviting.connect(revoke_all_of, dispatch_uid="invitations")


def revoke_all_of(sender: object, user: "User", actor: "User | None", **_: object) -> list[str]:
    from invitations.models import Invitation

    return Invitation.objects.revoke_all_of(user, actor)
