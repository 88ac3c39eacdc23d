from django.urls import path

from passwords import views

urlpatterns = [
    path("auth/password", views.ChangePasswordView.as_view()),
    path("users/<uuid:user_id>/password-change", views.SendPasswordLinkView.as_view()),
    path("password-changes", views.PasswordChangesView.as_view()),
    path("password-changes/redeem", views.RedeemPasswordChangeView.as_view()),
]
