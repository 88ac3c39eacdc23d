from django.apps import AppConfig


class InvitationsConfig(AppConfig):
    name = "invitations"
    verbose_name = "Invitations"

    def ready(self) -> None:
        from accounts.models import stopped_inviting
        from invitations.models import Invitation

        # A weak receiver would go with its manager, which the app registry may drop from its cache.
        stopped_inviting.connect(Invitation.objects.revoke_sent_by, weak=False)
