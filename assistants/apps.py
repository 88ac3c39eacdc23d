import re

from corsheaders.signals import check_request_enabled
from django.apps import AppConfig
from django.http import HttpRequest

OPEN_PATHS = re.compile(r"/\.well-known/oauth-|/oauth/(register|token)$")


def allow_any_origin(sender: object, request: HttpRequest, **kwargs: object) -> bool:
    """Scripts of any origin may read metadata, register and get tokens, which use no cookie."""
    return bool(OPEN_PATHS.match(request.path_info))


class AssistantsConfig(AppConfig):
    name = "assistants"
    verbose_name = "Connected apps"

    def ready(self) -> None:
        from assistants.models import Client, Grant
        from worker import jobs

        check_request_enabled.connect(allow_any_origin)
        jobs.register_pruning(Client, Grant)
