from django.urls import path

from emailchanges import views

urlpatterns = [
    path("auth/email-changes", views.EmailChangesView.as_view()),
    path("auth/email-changes/waiting", views.WaitingEmailChangeView.as_view()),
    path("email-changes/redeem", views.RedeemEmailChangeView.as_view()),
    path("email-changes/undo", views.UndoEmailChangeView.as_view()),
]
