from django.urls import path

from emailchanges import views

urlpatterns = [
    path("auth/email-changes", views.EmailChangesView.as_view()),
    path("email-changes/redeem", views.RedeemView.as_view()),
    path("email-changes/undo", views.UndoView.as_view()),
]
