from django.apps import AppConfig


class InvitationsConfig(AppConfig):
    name = "invitations"
    verbose_name = "Invitations"

    def ready(self) -> None:
        from accounts.models import stopped_inviting
        from invitations.models import Invitation

        # Not weak: a manager lives no longer than the registry's cache.
        stopped_inviting.connect(Invitation.objects.revoke_sent_by, weak=False)
