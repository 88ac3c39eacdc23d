"""The pages: each a template, counted in the public tier. All else is done by their script, with
the API's calls and two of the pages' own."""

from typing import NoReturn

from django.conf import settings
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.templatetags.static import static
from django.utils import translation
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.fields import OneOfField, TextField
from accounts.generics import CredentialView, valid
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation
from pages import words
from passwords.models import PasswordChange
from signin.models import SignupLink, UnlockLink
from throttling.views import CountedView

# What pages.js imports: named in the page, so that the browser need not find out one by one.
SCRIPTS = ["client", "company", "email", "factors", "forms", "lists", "navigation", "passkeys"]
SCRIPTS = [f"pages/{script}" for script in [*SCRIPTS, "people", "screen"]] + ["signin/show"]
MAILED = (SignupLink, Invitation, PasswordChange, UnlockLink, EmailChange, UndoEmailChange)
LINKS = {kind.page: kind for kind in MAILED}


def page(request: Request, name: str, status: int = 200, **context: object) -> HttpResponse:
    """A page in the language of Django's language cookie, else of Accept-Language."""
    language = translation.get_language_from_request(request)
    with translation.override(language):
        context = {
            "language": language,
            "languages": settings.LANGUAGES,
            "home": "/" if settings.SERVES_PAGES else settings.FRONTEND_URL,
            "assistants": f"{settings.SERVICE_URL}/mcp" if settings.ASSISTANTS else "",
            "devices": settings.DEVICE_LOCKOUT,
            "words": words.in_language(),
            "scripts": [static(f"{script}.js") for script in SCRIPTS],
            "links": settings.LINKS,
            "shortest": settings.PASSWORD_MIN_LENGTH,
        } | context
        return render(request, f"pages/{name}.html", context, status=status)


def error_page(request: Request, answer: Response) -> HttpResponse:
    """An error answer as a page: its status and its headers."""
    status, wait = answer.status_code, answer.headers.get("Retry-After")
    response = page(request, "error", status, wait=wait, missing=status == 404)
    for name, value in answer.headers.items():
        response.headers.setdefault(name, value)
    return response


def asks_for_a_page(request: Request) -> bool:
    """Whether a person's browser opens a URL, where it may find a page: programs say nothing
    of HTML, nor does a browser on behalf of a script or a picture."""
    opens = request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
    html = "text/html" in request.headers.get("Accept", "")
    return settings.SERVES_PAGES and request.method in {"GET", "HEAD"} and opens and html


class PageView(CountedView):
    """GET of one page; its errors are pages as well."""

    schema = None  # no part of the API

    def get(self, request: Request, name: str = "") -> HttpResponse:
        origin = f"{request.scheme}://{request.get_host()}"
        return page(request, name, passkeys=origin in settings.PASSKEYS_ORIGINS)

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        return error_page(self.request, super().handle_exception(exc))


class UnknownPageView(PageView):
    """GET of a URL below a page's: mistyped addresses are answered with a page."""

    def get(self, request: Request, name: str = "", rest: str = "") -> NoReturn:
        raise Http404


class ChangePasswordView(PageView):
    """GET /.well-known/change-password: where password managers lead people (W3C, A Well-Known URL
    for Changing Passwords)."""

    def get(self, request: Request, name: str = "") -> HttpResponse:
        return HttpResponseRedirect("/forgot-password")


class LinkSerializer(serializers.Serializer):
    token = TextField(max_length=512)
    page = OneOfField(LINKS)


class LinkView(CredentialView):
    """POST /pages/link {token, page} -> {email, company, account}: what a mailed link is for.

    The link is not used up, and the answer tells no more than its mail: the address it went to,
    an invitation's company, and the address of the account that will get a new one. A dead or
    forged token is the 400 that its use would be, and counts as the same guess. Whether the address
    is locked makes no difference.
    """

    schema = None

    def post(self, request: Request) -> Response:
        data = valid(LinkSerializer, request)
        link = LINKS[data["page"]].objects.find(data["token"])
        company = link.account.name if isinstance(link, Invitation) else None
        account = link.old_email if isinstance(link, EmailChange) else None
        return Response({"email": link.email, "company": company, "account": account})
