"""Middleware for the back office's requests alone."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.auth import get_user
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from backoffice.site import render_too_many_attempts
from base.emails import with_readable_domains
from throttling.errors import RateLimited, TooManyAttempts
from throttling.throttles import CredentialThrottle, PublicThrottle

PAGE_TEXT = re.compile(">[^<>]+<")  # between two tags


class BackOfficeMiddleware:
    """Counts the back office's requests, and has its sessions, users and messages, which no other
    path needs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self.get_page: Any = MessageMiddleware(get_response)
        # It also clears an invalid session's cookie, of the page with 429 as of any other.
        self.with_session: Any = SessionMiddleware(self.serve)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if f"{request.path_info}/".startswith("/admin/"):
            page: HttpResponseBase = self.with_session(request)
            return page
        return self.get_response(request)

    def serve(self, request: HttpRequest) -> HttpResponseBase:
        """Count the request before its CSRF check and its view, a sign-in in the credential tier,
        any other in the public tier. The answer to a throttled caller is a page with 429.

        In the texts of pages, domains of addresses in Punycode are written as `readable_domain`
        shows them; form fields and links keep Punycode."""
        is_sign_in = request.method == "POST" and request.path_info == reverse("admin:login")
        try:
            (CredentialThrottle if is_sign_in else PublicThrottle)().allow_request(request)
        except (RateLimited, TooManyAttempts) as error:
            return render_too_many_attempts(request, error)
        request.user = SimpleLazyObject(partial(load_user, request))  # type: ignore[assignment]
        response: HttpResponseBase = self.get_page(request)
        if isinstance(response, HttpResponse) and b"xn--" in response.content:
            page = response.content.decode()
            response.content = PAGE_TEXT.sub(lambda text: with_readable_domains(text[0]), page)
        return response


def load_user(request: HttpRequest) -> Any:
    """The session's user, also as `request.user`: the request's log line names the user only if one
    was loaded."""
    request.user = get_user(request)
    return request.user
