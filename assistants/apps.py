import re

from corsheaders.signals import check_request_enabled
from django.apps import AppConfig
from django.http import HttpRequest

# Paths that scripts of any web origin may call.
OPEN_PATHS = re.compile(r"/\.well-known/oauth-|/oauth/(register|token)$")


def allow_any_origin(sender: object, request: HttpRequest, **kwargs: object) -> bool:
    """Receiver of corsheaders' `check_request_enabled`: True for metadata, registration and the
    token endpoint. None of them uses a cookie."""
    return bool(OPEN_PATHS.match(request.path_info))


class AssistantsConfig(AppConfig):
    name = "assistants"
    verbose_name = "Connected apps"

    def ready(self) -> None:
        from assistants.models import Client, Grant
        from worker import jobs

        check_request_enabled.connect(allow_any_origin)
        jobs.register_pruning(Client, Grant)
