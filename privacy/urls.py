"""Paths of the privacy app."""

from django.urls import path

from privacy import views

urlpatterns = [path("auth/me/data", views.DataView.as_view())]
