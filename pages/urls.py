"""Paths of what a person looks at: the API's documentation, and the pages of a small front-end."""

from django.conf import settings
from django.urls import path

from pages.views import DocsView, PageView

PAGES = [
    "signup",
    "complete-signup",
    "login",
    "account",
    "people",
    "accept-invitation",
    "forgot-password",
    "change-password",
]

urlpatterns = [path("docs", DocsView.as_view())]
if settings.SERVES_PAGES:
    urlpatterns += [path("", PageView.as_view(name="home"))]
    urlpatterns += [path(name, PageView.as_view(name=name)) for name in PAGES]

PATHS = frozenset(f"/{found.pattern}" for found in urlpatterns)
