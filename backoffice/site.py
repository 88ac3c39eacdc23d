"""The admin site: navigation, index, and a sign-in to which the API's limits and lockouts apply."""

import math
from itertools import chain
from operator import itemgetter
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.cache import cache_control

from accounts.models import User
from backoffice.overview import overview_context
from backoffice.search import search_context
from base.admin import OfficeSite
from base.emails import canonical_email
from signin.browsers import remember_browser
from signin.credentials import Policy, check_credentials, record_sign_in
from signin.devices import remember_device
from signin.errors import FactorError, FactorMustBeSetUp, WrongCode, WrongCredentials, WrongPasskey
from signin.factors.forms import (
    factor_from_form,
    passkey_options,
    second_page_context,
    unseal_credentials,
)
from signin.factors.methods import Method
from signin.factors.passkeys import find_by_passkey
from throttling.errors import RateLimited, TooManyAttempts

# Views of Django's admin that this site doesn't have. Passwords are changed by e-mailed link, as
# Django's form checks the old one without limit, lockout and audit log. No row has a public page.
REMOVED_VIEWS = {"view_on_site", "password_change", "password_change_done"}

# Paths of lists whose model was renamed. They stay, for bookmarks and for hosts of the release
# before, whose pages link to them.
OLD_PATHS = {"audit/auditevent/": "audit/record/"}
OLD_PATHS |= {"sso/identityprovider/": "accounts/connection/"}

# Labels of models whose lists operators use every day. The others are under "More".
NAVIGATION = ["accounts.User", "accounts.Account", "invitations.Invitation"]
NAVIGATION += ["mail.OutgoingMail", "throttling.Lockout", "audit.AuditEvent"]


class LoginForm(AdminAuthenticationForm):
    """Django's form, which also accepts a passkey instead of address and password."""

    request: HttpRequest  # Django's form can also do without

    # Django's field normalises compatibility characters: a Kelvin sign becomes a k, and failed
    # attempts would lock another user's address.
    username = forms.CharField(
        label="E-mail address",
        widget=forms.EmailInput(
            attrs={"autofocus": True, "autocapitalize": "none", "autocomplete": "username"}
        ),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.data.get("passkey"):
            for field in self.fields.values():
                field.required = False

    def clean(self) -> dict[str, Any]:
        """Sign in by the form's passkey, or else by its address, password and factor: the user is
        then `user_cache`. Raises ValidationError with the text for the page, SecondFactorRequired,
        WrongCode and TooManyAttempts, which `Site.login` handles, or TooManyHashes."""
        email, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        factor = factor_from_form(self.data)
        if factor["passkey"] and "sealed" not in self.data:
            self.user_cache = sign_in_staff_by_passkey(self.request, factor["passkey"])
        elif email and password:
            self.user_cache = self.sign_in_staff_by_password(email, password, factor)
        else:
            raise ValidationError("Enter your e-mail address and password.")
        return self.cleaned_data

    def sign_in_staff_by_password(self, email: str, password: str, factor: dict[str, Any]) -> User:
        """Check the credentials of a member of the support staff, and record the sign-in. `factor`
        is from `factor_from_form`. Raises ValidationError if address or password is wrong, if the
        user isn't staff, or has no second factor and needs one; or SecondFactorRequired, WrongCode,
        TooManyAttempts or TooManyHashes."""
        try:
            email = canonical_email(email)
            user, method = check_credentials(self.request, email, password, Policy.STAFF, **factor)
        except (ValidationError, WrongCredentials):
            text = "The e-mail address or password is wrong, or the account is not an operator's."
            raise ValidationError(text) from None
        except FactorMustBeSetUp:
            page = settings.FRONTEND_URL + ("/profile" if settings.SERVES_PAGES else "")
            text = 'The back office requires a second factor. <a href="{}">Set one up</a> first.'
            raise ValidationError(format_html(text, page)) from None
        record_sign_in(self.request, user, method)
        return user


def sign_in_staff_by_passkey(request: HttpRequest, passkey: Any) -> User:
    """Record the sign-in of the member of the support staff whose passkey gave this answer, the
    browser's unchecked JSON, and return the user. Raises ValidationError if it is invalid, and for
    a user who is inactive, not staff, or must sign in at a company's provider. Lockouts don't
    apply: nobody can guess a passkey."""
    try:
        user = find_by_passkey(passkey)
    except WrongPasskey:
        user = None
    if user is None or not user.is_staff:
        raise ValidationError("This passkey doesn't belong to an operator.")
    record_sign_in(request, user, Method.PASSKEY_ALONE)
    return user


def render_too_many_attempts(
    request: HttpRequest, error: RateLimited | TooManyAttempts
) -> HttpResponse:
    """The page for a throttled caller and for a locked address, which must not differ: else it
    would tell whether an address is locked. The request was counted: the page names the seconds
    until its window ends."""
    seconds = request.rate_limit.reset  # type: ignore[attr-defined]
    context = {"seconds": seconds, "minutes": math.ceil(settings.LOCKOUT_SECONDS / 60)}
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store", "Vary": "Cookie"}
    if isinstance(error, RateLimited):
        headers["x-ratelimit-remaining"] = "0"
    page = render_to_string("admin/too_many_attempts.html", context, request)
    return HttpResponse(page, status=429, headers=headers)


class AutocompleteView(AutocompleteJsonView):
    """Django's suggestions for a field."""

    def process_request(self, request: HttpRequest) -> Any:
        """Raises PermissionDenied also for the reverse side of a foreign key, at which Django's
        view fails."""
        term, model_admin, field, to_field = super().process_request(request)  # type: ignore[misc]
        if not field.concrete:
            raise PermissionDenied
        return term, model_admin, field, to_field


class Site(OfficeSite):
    """Django's admin site with its own index, navigation and sign-in."""

    site_title = "Consulting management"
    site_header = "Consulting management"
    index_title = "Back office"
    site_url = "/" if settings.SERVES_PAGES else None
    empty_value_display = ""
    login_form = LoginForm
    login_template = "backoffice/login.html"
    index_template = "backoffice/index.html"
    history_page = "admin:audit_auditevent_changelist"
    refusal = "only a superuser can change operators"

    def get_urls(self) -> list[Any]:
        """Django's URLs without REMOVED_VIEWS. The lists in OLD_PATHS have their old paths only."""
        django_urls: list[Any] = super().get_urls()
        urls: list[Any] = []
        for url in django_urls:
            if old_path := OLD_PATHS.get(str(url.pattern)):
                urls.append(path(old_path, include(url.url_patterns)))
            elif getattr(url, "name", "") not in REMOVED_VIEWS:
                urls.append(url)
        return urls

    def autocomplete_view(self, request: HttpRequest) -> Any:
        return AutocompleteView.as_view(admin_site=self)(request)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """The context of every page, beside Django's: the lists that the caller may view, in
        `navigation` those of NAVIGATION, in `more` all others by title; `section`, the one to which
        the request's page belongs, or None; `links`, the setting LINKS; `forgot`, the URL of the
        page for a forgotten password. A list has `title`, `url` ("" if only adding is allowed) and
        `current`."""
        context: dict[str, Any] = super().each_context(request)
        entries = {}
        for facts in chain.from_iterable(app["models"] for app in context["available_apps"]):
            title = cast(Any, self.get_model_admin(facts["model"])).list_title()
            url = facts["admin_url"] or ""
            is_current = bool(url) and request.path.startswith(url)
            entry = {"title": title, "url": url, "current": is_current}
            entries[facts["model"]._meta.label] = entry
        section = next((entry for entry in entries.values() if entry["current"]), None)
        daily_entries = [entries.pop(label) for label in NAVIGATION if label in entries]
        return context | {
            "navigation": daily_entries,
            "more": sorted(entries.values(), key=itemgetter("title")),
            "section": section,
            "links": settings.LINKS,
            "forgot": f"{settings.FRONTEND_URL}/forgot-password",
        }

    def index(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        """The page of the overview or, with a query `q`, of its search results."""
        context = (search_context(request) or overview_context(request)) | (extra_context or {})
        return super().index(request, context)

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the caller is staff, and has a second factor if STAFF_SECOND_FACTOR requires one.
        The session has shown it, since setting up the first factor ends all sessions without it.
        Raises DisallowedHost (400) for another host than ALLOWED_HOSTS."""
        request.get_host()  # the sign-in page checks the host itself
        if not super().has_permission(request):
            return False
        return cast(User, request.user).has_second_factor or not settings.STAFF_SECOND_FACTOR

    @method_decorator(cache_control(no_store=True))  # the second page has the password, sealed
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Sign in, on one page or two. BackOfficeMiddleware has counted the request.

        1. Django's page takes address and password, or a passkey.
        2. If a second factor is needed, the second page asks for it. It holds address and password,
           sealed for five minutes, and posts to the same URL.
        3. They are put back into the form, so everything is checked as if submitted at once.
        4. The browser is remembered, with DEVICE_LOCKOUT as a known device.
        5. The browser is redirected to `next`, or else to the index.

        A locked address gets the same page with 429 as a throttled caller. Raises TooManyHashes.
        """
        if "sealed" in request.POST:
            form = request.POST.copy()
            form["username"], form["password"] = unseal_credentials(str(form["sealed"]))
            request.POST = form  # type: ignore[assignment]
        context = {"passkey": passkey_options(request)} | (extra_context or {})
        try:
            response = super().login(request, context)
        except TooManyAttempts as error:
            return render_too_many_attempts(request, error)
        except FactorError as error:
            form = request.POST
            context = second_page_context(request, form["username"], form["password"])
            context |= self.each_context(request) | {"wrong": isinstance(error, WrongCode)}
            return render(request, "admin/second_factor.html", context)
        user = request.user
        has_signed_in = request.method == "POST" and response.status_code == 302
        if has_signed_in and user.is_authenticated:
            remember_browser(request, response, user)
            if settings.DEVICE_LOCKOUT:
                remember_device(request, response, user)
        return response
