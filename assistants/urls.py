"""Paths of the MCP endpoint, of OAuth, and of a user's connected apps."""

from django.conf import settings
from django.urls import include, path

from assistants.consent import AuthorizeView
from assistants.oauth import MetadataView, RegisterView, RevokeView, TokenView, server_metadata
from assistants.views import EndGrantView, ListGrantsView, MCPView

well_known = [
    path("oauth-protected-resource", MetadataView.as_view()),
    path("oauth-protected-resource/mcp", MetadataView.as_view()),
    path("oauth-authorization-server", MetadataView.as_view(document=server_metadata)),
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
        path("mcp/", MCPView.as_view()),
        path(".well-known/", include(well_known)),
        path("oauth/", include(oauth)),
        path("auth/authorize", AuthorizeView.as_view()),
        path("auth/grants", ListGrantsView.as_view()),
        path("auth/grants/", include([path("<uuid:grant_id>", EndGrantView.as_view())])),
    ]
