"""Paths of the accounts app."""

from django.urls import include, path

from accounts import views

auth = [
    path("me", views.MeView.as_view()),  # the most frequent first: paths are tried in order
    path("refresh", views.RefreshView.as_view()),
    path("login", views.LoginView.as_view()),
    path("signup", views.SignupView.as_view()),
    path("complete-signup", views.CompleteSignupView.as_view()),
    path("register", views.CompleteSignupView.as_view()),
    path("logout", views.LogoutView.as_view()),
    path("logout-everywhere", views.LogoutEverywhereView.as_view()),
]

urlpatterns = [
    path("auth/", include(auth)),
    path("lockouts/redeem", views.UnlockView.as_view()),
    path("users", views.UsersView.as_view()),
    path("users/", include([path("<uuid:user_id>", views.UserView.as_view())])),
    path(".well-known/jwks.json", views.KeysView.as_view()),
]
