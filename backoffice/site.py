"""The admin site: its name, its index, and a log-in that is counted and locked like the API's."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import APIException

from accounts.backends import check_credentials
from accounts.devices import Devices, remember_device
from accounts.emails import canonical_email
from accounts.exceptions import WrongCredentials
from backoffice.lookups import GuardedAdmin
from backoffice.overview import found, overview
from throttling.exceptions import RateLimited, TooManyAttempts
from throttling.throttles import CredentialThrottle, PublicThrottle

TAKEN_AWAY = {"view_on_site"}


class LoginForm(AdminAuthenticationForm):
    """Django's form, which lets TooManyAttempts pass so that the site can answer 429."""

    # Django's own field folds compatibility characters: the Kelvin sign would come in as a k, and
    # its failures would lock somebody else.
    username = forms.CharField(
        widget=forms.TextInput(attrs={"autofocus": True, "autocapitalize": "none"})
    )

    def clean(self) -> dict[str, Any]:
        email = self.cleaned_data.get("username")
        password = self.cleaned_data.get("password")
        if email and password:
            try:
                self.user_cache = check_credentials(
                    canonical_email(email), password, staff=True, devices=Devices(self.request)
                )
            except (ValidationError, WrongCredentials):
                raise self.get_invalid_login_error() from None
            self.confirm_login_allowed(self.user_cache)
        return self.cleaned_data


class Site(admin.AdminSite):
    """Django's admin site: it opens with what needs a hand, and its log-in is counted and locked
    like the API's."""

    site_title = "Consulting management"
    site_header = "Consulting management"
    index_title = "Back office"
    login_form = LoginForm
    index_template = "backoffice/index.html"
    enable_nav_sidebar = False  # its width is the lists'

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Guarded, whatever the class: Django's own, too, and one that somebody forgets."""
        admin_class = admin_class or admin.ModelAdmin
        said = {"__module__": admin_class.__module__, "__doc__": admin_class.__doc__}
        guarded = type(admin_class.__name__, (GuardedAdmin, admin_class), said)
        super().register(model_or_iterable, guarded, **options)

    def get_urls(self) -> list[Any]:
        """Without Django's view_on_site: no row of ours has a page outside, and whoever asked for
        one was told which rows there are."""
        kept = super().get_urls()
        return [entry for entry in kept if getattr(entry, "name", "") not in TAKEN_AWAY]

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The apps, what needs a hand now, and what the search box finds."""
        context = overview(request) | found(request) | (extra_context or {})
        return super().index(request, context)

    @method_decorator(csrf_exempt)  # so that it is counted first; super().login checks the token
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Counted before all else: a look at the form in the public tier, a guess in the other."""
        guesses = request.method == "POST"
        try:
            (CredentialThrottle if guesses else PublicThrottle)().allow_request(request)
            response = super().login(request, extra_context)
        except (RateLimited, TooManyAttempts) as refusal:
            return self.too_many_attempts(request, refusal)
        if guesses and request.user.is_authenticated and response.status_code == 302:
            remember_device(request, response, request.user)
        for name, value in request.rate_limit.headers().items():  # type: ignore[attr-defined]
            response[name] = value
        return response

    def too_many_attempts(self, request: HttpRequest, refusal: APIException) -> HttpResponse:
        """The page for a throttled caller and for a locked address: the same bytes for both. Who
        has looked too often is told, as by the API, that nothing remains."""
        seconds = request.rate_limit.reset  # type: ignore[attr-defined]
        response = render(request, "admin/too_many_attempts.html", status=429)
        response["Retry-After"] = str(seconds)
        if isinstance(refusal, RateLimited):
            response["x-ratelimit-remaining"] = "0"
        return response
