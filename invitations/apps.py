from typing import Any

from django.apps import AppConfig


class InvitationsConfig(AppConfig):
    name = "invitations"
    verbose_name = "Invitations"

    def ready(self) -> None:
        from accounts.signals import stopped_inviting

        stopped_inviting.connect(revoke_all_of, dispatch_uid="invitations")


def revoke_all_of(sender: Any, user: Any, actor: Any, **_: Any) -> list[str]:
    from invitations.models import Invitation

    return Invitation.objects.revoke_all_of(user, actor)
