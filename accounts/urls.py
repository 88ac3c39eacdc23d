"""Paths of the accounts room."""

from django.urls import path

from accounts import views

urlpatterns = [
    path("auth/signup", views.SignupView.as_view()),
    path("auth/complete-signup", views.CompleteSignupView.as_view()),
    path("auth/register", views.CompleteSignupView.as_view()),
    path("auth/login", views.LoginView.as_view()),
    path("auth/refresh", views.RefreshView.as_view()),
    path("auth/me", views.MeView.as_view()),
    path("auth/logout", views.LogoutView.as_view()),
    path("auth/logout-everywhere", views.LogoutEverywhereView.as_view()),
    path("users", views.UsersView.as_view()),
    path("users/<uuid:user_id>", views.UserView.as_view()),
    path(".well-known/jwks.json", views.KeysView.as_view()),
]
