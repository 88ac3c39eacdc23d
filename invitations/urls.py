from django.urls import include, path

from invitations import views

below = [
    path("accept", views.AcceptView.as_view()),
    path("<uuid:invitation_id>", views.InvitationView.as_view()),
    path("<uuid:invitation_id>/resend", views.ResendView.as_view()),
]
urlpatterns = [
    path("invitations", views.InvitationsView.as_view()),
    path("invitations/", include(below)),
]
