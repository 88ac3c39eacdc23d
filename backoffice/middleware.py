"""Middleware that counts the back office's requests and makes addresses on its pages readable."""

import re
from functools import partial
from typing import Any

from django.contrib.auth import get_user
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject

from backoffice.site import render_too_many_attempts
from base.emails import with_readable_domains
from throttling.errors import RateLimited, TooManyAttempts
from throttling.throttles import CredentialThrottle, PublicThrottle

PAGE_TEXT = re.compile(">[^<>]+<")  # between two tags


class CountingMiddleware(MiddlewareMixin):
    """Counts each request of the back office before its view and its CSRF check: a sign-in in the
    credential tier, any other in the public tier. Sets a lazy `request.user`."""

    def process_view(self, request: HttpRequest, *view: object) -> HttpResponse | None:
        """Count the request and set `request.user`, which is read from the session when it is first
        used. Returns None, so that Django calls the view, or for a throttled caller the page with
        429 of `render_too_many_attempts`. For paths outside the back office, returns None and does
        nothing."""
        if not f"{request.path_info}/".startswith("/admin/"):
            return None
        is_sign_in = request.method == "POST" and request.path_info == reverse("admin:login")
        try:
            (CredentialThrottle if is_sign_in else PublicThrottle)().allow_request(request)
        except (RateLimited, TooManyAttempts) as error:
            return render_too_many_attempts(request, error)
        request.user = SimpleLazyObject(partial(load_user, request))  # type: ignore[assignment]
        return None

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """The answer. In the texts of a page of the back office, domains of addresses in Punycode
        are written as `readable_domain` shows them; form fields and links keep Punycode."""
        if not request.path_info.startswith("/admin/") or not isinstance(response, HttpResponse):
            return response
        if b"xn--" in response.content:
            page = response.content.decode()
            response.content = PAGE_TEXT.sub(lambda text: with_readable_domains(text[0]), page)
        return response


def load_user(request: HttpRequest) -> Any:
    """The session's user, also as `request.user`: the request's log line names the user only if one
    was loaded."""
    request.user = get_user(request)
    return request.user
