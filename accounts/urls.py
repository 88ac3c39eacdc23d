"""Paths of the accounts app."""

from django.urls import include, path

from accounts import views

urlpatterns = [
    path("auth/me", views.MeView.as_view()),
    path("users", views.UsersView.as_view()),
    path("users/", include([path("<uuid:user_id>", views.UserView.as_view())])),
]
