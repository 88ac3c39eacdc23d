"""Paths of the MCP endpoint, of OAuth, and of what people do about their assistants."""

from django.conf import settings
from django.urls import include, path

from assistants.consent import AuthorizeView
from assistants.oauth import (
    AuthorizationServerView,
    ProtectedResourceView,
    RegisterView,
    RevokeView,
    TokenView,
)
from assistants.views import GrantsView, GrantView, MCPView, MovedView

well_known = [
    path("oauth-protected-resource", ProtectedResourceView.as_view()),
    path("oauth-protected-resource/mcp", ProtectedResourceView.as_view()),
    path("oauth-authorization-server", AuthorizationServerView.as_view()),
]
oauth = [
    path("register", RegisterView.as_view()),
    path("authorize", AuthorizeView.as_view()),
    path("token", TokenView.as_view()),
    path("revoke", RevokeView.as_view()),
]
urlpatterns = []
if settings.ASSISTANTS:
    urlpatterns = [
        path("mcp", MCPView.as_view()),
        path("mcp/", MovedView.as_view()),
        path(".well-known/", include(well_known)),
        path("oauth/", include(oauth)),
        path("auth/grants", GrantsView.as_view()),
        path("auth/grants/", include([path("<uuid:grant_id>", GrantView.as_view())])),
    ]
