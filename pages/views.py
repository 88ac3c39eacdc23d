"""The built-in pages, templates whose scripts call the API, and POST /pages/link."""

import math
from posixpath import normpath
from typing import Any
from urllib.parse import quote, unquote

from django.conf import settings
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.templatetags.static import static
from django.utils import timezone, translation
from django.utils.decorators import method_decorator
from django.views.decorators.gzip import gzip_page
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.fields import OneOfField, TextField
from api.views import CountedView
from emailchanges.models import EmailChange
from invitations.models import Invitation
from mail.links import EmailedLink
from pages.facts import ABSENT_AFTER

# Modules of every page, and by page those that it needs as well. A page lists all of them, so that
# browsers load them in parallel.
COMMON_SCRIPTS = ["client", "forms", "navigation", "passkeys", "screen", "../signin/show"]
PAGE_SCRIPTS = {
    "login": ["factors", "sso"],
    "sso": ["sso"],
    "change-password": ["factors"],
    "second-factor": ["factors"],
    "profile": ["email", "factors", "lists", "sso"],
    "people": ["apikeys", "company", "connection", "factors", "lists", "people"],
    "change-email": ["email"],
    "undo-email-change": ["email"],
}
# By the name of the page that the mailed link opens.
LINK_MODELS: dict[str, Any] = {
    model.page: model for model in EmailedLink.models_by_label().values()
}


def render_page(request: Request, name: str, status: int = 200, **context: object) -> HttpResponse:
    """Render the template `pages/<name>.html` in the caller's language, with what every page shows
    and `context`, which takes precedence."""
    language = translation.get_language_from_request(request)
    scripts = PAGE_SCRIPTS.get(name, [])
    all_scripts = COMMON_SCRIPTS + scripts
    with translation.override(language):
        context = {
            "language": language,
            "languages": settings.LANGUAGES,
            "home": "/" if settings.SERVES_PAGES else settings.FRONTEND_URL,
            "assistants": f"{settings.SERVICE_URL}/mcp" if settings.ASSISTANTS else "",
            "provisioning": f"{settings.SERVICE_URL}/scim/v2",
            "after_signin": settings.AFTER_SIGNIN_URL,
            "devices": settings.DEVICE_LOCKOUT,
            "lock": math.ceil(settings.LOCKOUT_SECONDS / 60),
            "own_scripts": " ".join(scripts),
            "preloaded": [static(normpath(f"pages/{script}.js")) for script in all_scripts],
            "links": settings.LINKS,
            "shortest": settings.PASSWORD_MIN_LENGTH,
            "absent": ABSENT_AFTER,
            "absent_since": timezone.now() - ABSENT_AFTER,
        } | context
        return render(request, f"pages/{name}.html", context, status=status)


def error_page(request: Request, answer: Response) -> HttpResponse:
    """A page for an error answer, with the answer's status and headers."""
    status, wait = answer.status_code, int(answer.headers.get("Retry-After", 0))
    response = render_page(request, "error", status, wait=wait, missing=status == 404)
    for name, value in answer.headers.items():
        response.headers.setdefault(name, value)
    return response


def asks_for_a_page(request: Request) -> bool:
    """Whether a browser navigates to the URL, so that the answer may be a page."""
    is_read = request.method in {"GET", "HEAD"}
    navigates = request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
    accepts_html = "text/html" in request.headers.get("Accept", "")
    return settings.SERVES_PAGES and is_read and navigates and accepts_html


@method_decorator(gzip_page, name="dispatch")  # a page holds no secret
class PageView(CountedView):
    """GET of a page. Its errors are pages, too."""

    schema = None  # not part of the API

    def get(self, request: Request, name: str = "") -> HttpResponse:
        web_origin = f"{request.scheme}://{request.get_host()}"
        return render_page(request, name, passkeys=web_origin in settings.PASSKEYS_ORIGINS)

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        return error_page(self.request, super().handle_exception(exc))


class ChangePasswordRedirectView(PageView):
    """GET /.well-known/change-password, to which password managers send users (W3C, A Well-Known
    URL for Changing Passwords)."""

    def get(self, request: Request, name: str = "") -> HttpResponse:
        return HttpResponseRedirect("/profile#password")


class EncodedFragmentRedirectView(PageView):
    """GET of a page's path with an encoded fragment, such as `/unlock%23token=…`: redirects to the
    page, with the fragment decoded."""

    def get(self, request: Request, name: str = "", text: str = "") -> HttpResponse:
        return HttpResponseRedirect(f"/{name}#{quote(unquote(text), safe='=&')}")


class ShowLinkSerializer(serializers.Serializer):
    token = TextField(max_length=512)
    page = OneOfField(LINK_MODELS)


class ShowLinkView(CountedView):
    """POST /pages/link {token, page} -> {email, company, account}, counted in the public tier: a
    token is too long to be guessed, and an invited team opens its links at once."""

    schema = None

    def post(self, request: Request) -> Response:
        """Answer with what the mail with the link says, and leave the link unused. Raises DRF's
        ValidationError for an invalid body, and InvalidLink (400) for a link that is not live.

        `email` is the address that the link was sent to, `company` the name of an invitation's
        company, `account` the address that a user is about to replace; both null for other links.
        An invitation that can't be accepted also has the `hindrance`, "taken" or "provider", and
        the `inviter`: the user's name or address, or else the company's name."""
        body = self.validated_body(ShowLinkSerializer)
        link = LINK_MODELS[body["page"]].objects.find_by_token(body["token"])
        details = {"email": link.email, "company": None, "account": None}
        if isinstance(link, EmailChange):
            details["account"] = link.old_email
        if isinstance(link, Invitation):
            details["company"] = link.account.name
            if hindrance := link.find_hindrance():
                inviter = link.inviter_name or link.account.name
                details |= {"hindrance": hindrance, "inviter": inviter}
        return Response(details)
