from django.apps import AppConfig


class InvitationsConfig(AppConfig):
    name = "invitations"
    verbose_name = "Invitations"
