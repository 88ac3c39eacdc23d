"""Paths of what a person looks at: the API's documentation, and the pages of a small front-end."""

from django.conf import settings
from django.urls import include, path

from pages import views

PAGES = [
    "signup",
    "complete-signup",
    "login",
    "account",
    "people",
    "accept-invitation",
    "forgot-password",
    "change-password",
    "unlock",
]

below = [path("", views.MissingView.as_view()), path("<path:rest>", views.MissingView.as_view())]
documents = [path("docs", views.DocsView.as_view())]
calls = []
if settings.SERVES_PAGES:
    documents += [path("", views.PageView.as_view(name="home"))]
    documents += [path(name, views.PageView.as_view(name=name)) for name in PAGES]
    calls += [
        path("pages/link", views.LinkView.as_view()),
        path("pages/company", views.CompanyView.as_view()),
        path(".well-known/change-password", views.ChangePasswordView.as_view()),
        *(path(f"{name}/", include(below)) for name in PAGES),
    ]

urlpatterns = documents + calls
PATHS = frozenset(f"/{found.pattern}" for found in documents)
