"""The whole service: every path and the view that answers it."""

from django.contrib import admin
from django.urls import include, path, re_path

from config.health import health
from config.views import NotFoundView, SchemaView, admin_slash

handler400 = "config.errors.bad_request"
handler403 = "config.errors.permission_denied"
handler404 = "config.errors.page_not_found"
handler500 = "config.errors.server_error"

urlpatterns = [
    path("", include("accounts.urls")),
    path("", include("invitations.urls")),
    path("", include("passwords.urls")),
    path("", include("pages.urls")),
    path("health", health),
    path("schema", SchemaView.as_view()),
    path("admin", admin_slash),
    path("admin/", admin.site.urls),
    re_path("", NotFoundView.as_view()),
]
