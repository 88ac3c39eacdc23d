from django.urls import include, path

from accounts import events, views

user = [
    path("<uuid:user_id>/sign-out", views.SignOutView.as_view()),
]
urlpatterns = [
    path("auth/me", views.MeView.as_view()),
    path("account", views.CompanyView.as_view()),
    path("users", views.UsersView.as_view()),
    path("users/", include(user)),
    path("audit", events.EventsView.as_view()),
]
