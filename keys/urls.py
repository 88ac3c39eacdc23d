"""Paths of the keys app."""

from django.urls import path

from keys import views

urlpatterns = [path(".well-known/jwks.json", views.KeysView.as_view())]
