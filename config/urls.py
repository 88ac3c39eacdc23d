"""All paths of the service."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from config.metrics import MetricsView
from config.views import HealthView, LiveView, NotFoundView, SchemaView
from keys.views import KeysView
from privacy.views import DataView

handler500 = "api.errors.server_error"

urlpatterns = [
    path("", include("accounts.urls")),  # /auth/me, the most frequent, comes first
    path("", include("signin.urls")),
    path("", include("invitations.urls")),
    path("", include("passwords.urls")),
    path("", include("emailchanges.urls")),
    path("", include("sso.urls")),
    path("", include("apikeys.urls")),
    path("", include("scim.urls")),
    path("", include("assistants.urls")),
    path("", include("pages.urls")),
    path(".well-known/jwks.json", KeysView.as_view()),
    path("auth/me/data", DataView.as_view()),
    path("health", HealthView.as_view()),
    path("health/live", LiveView.as_view()),
    path("schema", SchemaView.as_view()),
    path("admin", RedirectView.as_view(url="/admin/", permanent=True)),
    path("admin/", admin.site.urls),
]
if settings.METRICS_TOKEN:
    urlpatterns.append(path("metrics", MetricsView.as_view()))
urlpatterns.append(re_path("", NotFoundView.as_view()))
