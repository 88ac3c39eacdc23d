"""Paths of the API's documentation and the built-in pages."""

from django.conf import settings
from django.urls import path, re_path, register_converter
from django.urls.converters import StringConverter

from base.urls import FRAGMENT_START
from pages import facts, views

PAGE_NAMES = [
    "signup",
    "complete-signup",
    "login",
    "second-factor",
    "sso",
    "profile",
    "people",
    "accept-invitation",
    "forgot-password",
    "change-password",
    "unlock",
    "change-email",
    "undo-email-change",
]


class PageConverter(StringConverter):
    regex = "|".join(PAGE_NAMES)


register_converter(PageConverter, "page")
ENCODED_FRAGMENT_PATH = f"^(?P<name>{PageConverter.regex}){FRAGMENT_START}(?P<text>.*)$"

urlpatterns = [path("docs", views.PageView.as_view(), {"name": "docs"})]
if settings.SERVES_PAGES:
    urlpatterns += [
        path("", views.PageView.as_view(), {"name": "home"}),
        path("<page:name>", views.PageView.as_view()),
        re_path(ENCODED_FRAGMENT_PATH, views.EncodedFragmentRedirectView.as_view()),
        path("pages/link", views.ShowLinkView.as_view()),
        path("pages/account", facts.AccountPageView.as_view()),
        path("pages/overview", facts.OverviewView.as_view()),
        path(".well-known/change-password", views.ChangePasswordRedirectView.as_view()),
    ]
