"""The middleware of the back office's requests."""

from functools import partial
from typing import Any

from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject

from backoffice.site import render_too_many_attempts
from throttling.errors import RateLimited, TooManyAttempts
from throttling.throttles import CredentialThrottle, PublicThrottle


class CountingMiddleware(MiddlewareMixin):
    """Counts each request of the back office before anything else, so also without a CSRF token:
    an attempt to sign in in the credential tier, all others in the public tier."""

    def process_view(self, request: HttpRequest, *view: object) -> HttpResponse | None:
        if not f"{request.path_info}/".startswith("/admin/"):
            return None
        is_sign_in = request.method == "POST" and request.path_info == reverse("admin:login")
        try:
            (CredentialThrottle if is_sign_in else PublicThrottle)().allow_request(request)
        except (RateLimited, TooManyAttempts) as error:
            return render_too_many_attempts(request, error)
        request.user = SimpleLazyObject(partial(load_user, request))  # type: ignore[assignment]
        return None


def load_user(request: HttpRequest) -> Any:
    """The session's user, who becomes `request.user`: the log line names a user who was loaded, and
    loads none."""
    request.user = get_user(request)
    return request.user
