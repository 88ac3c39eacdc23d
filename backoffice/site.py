"""The admin site: its name, its index, and a log-in that is counted and locked like the API's."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import translation
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from django.views.i18n import JavaScriptCatalog
from rest_framework.exceptions import APIException

from accounts.models import User
from backoffice import second_factor
from backoffice.asking import AskingAdmin
from backoffice.lookups import GuardedAdmin
from backoffice.names import NeutralLogAdmin
from backoffice.overview import overview
from backoffice.search import found
from mail.emails import canonical_email
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.devices import remember_device
from signin.errors import FactorNeeded, WrongCredentials
from signin.factors.forms import form_proof, unseal
from signin.login import check_credentials
from throttling.exceptions import RateLimited, TooManyAttempts
from throttling.throttles import CredentialThrottle, PublicThrottle

# Django's views that are not ours: no row has a page outside, and whoever asked for one was told
# which rows there are; and a password is changed by a mailed link alone, since that form checked
# the old one uncounted, unlocked, unrecorded and out of turn. What its scripts say comes from here,
# since Django lacks some of it in German.
TAKEN_AWAY = {"view_on_site", "password_change", "password_change_done", "jsi18n"}


class LoginForm(AdminAuthenticationForm):
    """Django's form, which lets TooManyAttempts and FactorNeeded pass, so that the site can answer
    429, and by the second page."""

    # Django's own field folds compatibility characters: the Kelvin sign would come in as a k, and
    # its failures would lock somebody else.
    username = forms.CharField(
        widget=forms.TextInput(attrs={"autofocus": True, "autocapitalize": "none"})
    )

    def clean(self) -> dict[str, Any]:
        email = self.cleaned_data.get("username")
        password = self.cleaned_data.get("password")
        if email and password:
            proof = form_proof(self.data)
            try:
                self.user_cache, _ = check_credentials(
                    self.request, canonical_email(email), password, proof, staff=True
                )
            except (ValidationError, WrongCredentials):
                raise self.get_invalid_login_error() from None
            self.confirm_login_allowed(self.user_cache)
        return self.cleaned_data


class Site(admin.AdminSite):
    """Django's admin site: it opens with what needs a hand, and its log-in is counted and locked
    like the API's."""

    site_title = _("Consulting management")
    site_header = _("Consulting management")
    index_title = _("Back office")
    login_form = LoginForm
    index_template = "backoffice/index.html"
    enable_nav_sidebar = False  # its width is the lists'

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Guarded, asking and with a neutral log, whatever the class: Django's own, too, and one
        that is forgotten."""
        admin_class = admin_class or admin.ModelAdmin
        said: dict[str, Any] = {
            "__module__": admin_class.__module__,
            "__doc__": admin_class.__doc__,
        }
        said["asks_first"] = getattr(admin_class, "asks_first", {})
        added = (GuardedAdmin, AskingAdmin, NeutralLogAdmin)
        before = [one for one in added if not issubclass(admin_class, one)]
        guarded = type(admin_class.__name__, (*before, admin_class), said)
        super().register(model_or_iterable, guarded, **options)

    def get_urls(self) -> list[Any]:
        """Django's, but for TAKEN_AWAY, and what stands in its place."""
        mail = self.admin_view(require_POST(self.mail_password_link))
        kept = [one for one in super().get_urls() if getattr(one, "name", "") not in TAKEN_AWAY]
        said = JavaScriptCatalog.as_view(packages=["django.contrib.admin", "backoffice"])
        scripts = path("jsi18n/", self.admin_view(said, cacheable=True), name="jsi18n")
        return [path("password-link/", mail, name="password_link"), scripts, *kept]

    def mail_password_link(self, request: HttpRequest) -> HttpResponse:
        """Ask, as anybody may, for the mail with which its owner changes a password."""
        user = cast(User, request.user)
        OutgoingMail.objects.request(PasswordChange, user.email, user.language)
        facts = {"email": user.email, "most": settings.MAIL_PER_ADDRESS_PER_HOUR}
        said = gettext(
            "A link to change your password goes to %(email)s, at most %(most)s an hour."
        )
        messages.success(request, said % facts)
        return redirect("admin:index")

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """In one order, whoever reads: the names are looked up when the page shows them."""
        with translation.override(None):
            return super().get_app_list(request, app_label)

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The apps, and what needs a hand now, or what the search box finds."""
        context = (found(request) or overview(request)) | (extra_context or {})
        return super().index(request, context)

    @method_decorator(cache_control(no_store=True))  # it shows secrets and recovery codes, too
    @method_decorator(csrf_exempt)  # so that it is counted first; super().login checks the token
    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Counted before all else: a look at the form in the public tier, a guess in the other."""
        guesses = request.method == "POST"
        try:
            (CredentialThrottle if guesses else PublicThrottle)().allow_request(request)
            response = self.sign_in(request, extra_context)
        except (RateLimited, TooManyAttempts) as refusal:
            return self.too_many_attempts(request, refusal)
        if guesses and request.user.is_authenticated and response.status_code == 302:
            remember_device(request, response, request.user)
        for name, value in request.rate_limit.headers().items():  # type: ignore[attr-defined]
            response[name] = value
        return response

    def has_permission(self, request: HttpRequest) -> bool:
        """With STAFF_SECOND_FACTOR nobody is in here without one, however they came in."""
        if not super().has_permission(request):
            return False
        return cast(User, request.user).has_second_factor or not settings.STAFF_SECOND_FACTOR

    def sign_in(self, request: HttpRequest, context: dict[str, Any] | None) -> HttpResponse:
        """Django's page, and the two that may follow on it: to show a factor, and to set one up.

        They post to the same URL. What is sealed on the second page is put back in the form's
        place, so that all of it is checked as if it had been typed at once.
        """
        if "enrolment" in request.POST:
            return second_factor.set_up(request, self.each_context(request))
        if "sealed" in request.POST:
            form = request.POST.copy()
            form["username"], form["password"] = unseal(str(form["sealed"]))
            request.POST = form  # type: ignore[assignment]
        try:
            return super().login(request, context)
        except FactorNeeded as needed:
            return second_factor.ask(request, needed, self.each_context(request))

    def each_context(self, request: HttpRequest) -> dict[str, object]:
        """What every page sees: the operators' links, too."""
        return super().each_context(request) | {"links": settings.LINKS}

    def too_many_attempts(self, request: HttpRequest, refusal: APIException) -> HttpResponse:
        """The page for a throttled caller and for a locked address: the same bytes for both. Who
        has looked too often is told, as by the API, that nothing remains."""
        seconds = request.rate_limit.reset  # type: ignore[attr-defined]
        response = render(request, "admin/too_many_attempts.html", status=429)
        response["Retry-After"] = str(seconds)
        if isinstance(refusal, RateLimited):
            response["x-ratelimit-remaining"] = "0"
        return response
