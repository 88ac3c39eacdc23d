from django.urls import path

from accounts import events, views

urlpatterns = [
    path("auth/me", views.MeView.as_view()),
    path("account", views.CompanyView.as_view()),
    path("users", views.UsersView.as_view()),
    path("users/<uuid:user_id>/sign-out", views.SignOutView.as_view()),
    path("audit", events.EventsView.as_view()),
]
