from django.urls import path

from invitations import views

urlpatterns = [
    path("invitations", views.InvitationsView.as_view()),
    path("invitations/accept", views.AcceptInvitationView.as_view()),
    path("invitations/<uuid:invitation_id>", views.InvitationView.as_view()),
    path("invitations/<uuid:invitation_id>/resend", views.ResendInvitationView.as_view()),
]
