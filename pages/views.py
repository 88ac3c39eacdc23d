"""The pages: each a template, counted in the public tier; all else is done by their script."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import translation
from rest_framework.request import Request

from pages.words import WORDS
from throttling.views import CountedView


def page(request: Request, name: str, status: int = 200, **context: Any) -> HttpResponse:
    """A page in the language of Django's language cookie, else of Accept-Language."""
    language = translation.get_language_from_request(request)
    with translation.override(language):
        words = {key: str(said) for key, said in WORDS.items()}
        context = {"language": language, "languages": settings.LANGUAGES, "words": words} | context
        return render(request, f"pages/{name}.html", context, status=status)


class PageView(CountedView):
    """GET of one page; its errors are pages as well."""

    schema = None  # no part of the API
    http_method_names = ["get", "head"]
    name = ""

    def get(self, request: Request) -> HttpResponse:
        return page(request, self.name)

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        answer = super().handle_exception(exc)
        response = page(
            self.request, "error", answer.status_code, wait=answer.headers.get("Retry-After")
        )
        for name, value in answer.headers.items():
            response.headers.setdefault(name, value)
        return response


class DocsView(PageView):
    """GET /docs: read the API's schema, and try it."""

    name = "docs"
