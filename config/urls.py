"""The whole service: every path and the view that answers it."""

from django.conf import settings
from django.contrib import admin
from django.urls import path, re_path
from django.views.generic import RedirectView

from accounts import urls as accounts
from assistants import urls as assistants
from config.health import HealthView, LiveView
from config.metrics import MetricsView
from config.views import NotFoundView, SchemaView
from emailchanges import urls as emailchanges
from invitations import urls as invitations
from keys.views import KeysView
from pages import urls as pages
from passwords import urls as passwords
from privacy.views import DataView
from signin import urls as signin

handler500 = "config.errors.server_error"

metrics = [path("metrics", MetricsView.as_view())] if settings.METRICS_TOKEN else []

urlpatterns = [
    # In one list: an unknown path would be matched against each include without a prefix.
    *accounts.urlpatterns,  # /auth/me, the most frequent, comes first
    *signin.urlpatterns,
    *invitations.urlpatterns,
    *passwords.urlpatterns,
    *emailchanges.urlpatterns,
    *assistants.urlpatterns,
    *pages.urlpatterns,
    path(".well-known/jwks.json", KeysView.as_view()),
    path("auth/me/data", DataView.as_view()),
    path("health", HealthView.as_view()),
    path("health/live", LiveView.as_view()),
    *metrics,
    path("schema", SchemaView.as_view()),
    path("admin", RedirectView.as_view(url="/admin/", permanent=True)),
    path("admin/", admin.site.urls),
    re_path("", NotFoundView.as_view()),
]
