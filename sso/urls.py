"""Paths of the sso app."""

urlpatterns: list[object] = []
