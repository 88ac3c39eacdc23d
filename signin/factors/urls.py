"""Paths of second factors."""

from django.urls import include, path

from signin.factors import views

factors = [
    path("totp", views.TotpView.as_view()),
    path("totp/confirm", views.ConfirmView.as_view()),
    path("passkeys", views.NewPasskeyView.as_view()),
    path("passkeys/options", views.NewPasskeyOptionsView.as_view()),
    path("<uuid:factor_id>", views.FactorView.as_view()),
    path("<uuid:factor_id>/remove", views.RemoveView.as_view()),
]
urlpatterns = [
    path("auth/passkeys/options", views.PasskeyOptionsView.as_view()),
    path("auth/passkeys/login", views.PasskeyLoginView.as_view()),
    path("auth/factors", views.FactorsView.as_view()),
    path("auth/factors/", include(factors)),
    path("auth/recovery-codes", views.RecoveryCodesView.as_view()),
    path("users/<uuid:user_id>/factors", views.ResetFactorsView.as_view()),
]
