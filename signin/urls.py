from django.urls import include, path

from signin import views
from signin.factors import views as factors

auth = [
    path("refresh", views.RefreshView.as_view()),  # first, since it is called most often
    path("login", views.LoginView.as_view()),
    path("signup", views.SignupView.as_view()),
    path("complete-signup", views.CompleteSignupView.as_view()),
    path("register", views.CompleteSignupView.as_view()),
    path("logout", views.LogoutView.as_view()),
    path("logout-everywhere", views.LogoutEverywhereView.as_view()),
    path("devices", views.ListDevicesView.as_view()),
    path("devices/<uuid:device_id>", views.ForgetDeviceView.as_view()),
    path("sign-ins", views.SignInsView.as_view()),
    path("passkeys/options", factors.PasskeyOptionsView.as_view()),
    path("passkeys/login", factors.PasskeyLoginView.as_view()),
    path("factors", factors.ListFactorsView.as_view()),
    path("factors/totp", factors.AddAppView.as_view()),
    path("factors/totp/confirm", factors.ConfirmAppView.as_view()),
    path("factors/passkeys", factors.AddPasskeyView.as_view()),
    path("factors/passkeys/options", factors.NewPasskeyOptionsView.as_view()),
    path("factors/<uuid:factor_id>", factors.RenameFactorView.as_view()),
    path("factors/<uuid:factor_id>/remove", factors.RemoveFactorView.as_view()),
    path("recovery-codes", factors.RenewRecoveryCodesView.as_view()),
]

urlpatterns = [
    path("auth/", include(auth)),
    path("lockouts/redeem", views.UnlockView.as_view()),
    path("users/<uuid:user_id>", views.UserView.as_view()),
    path("users/<uuid:user_id>/factors", factors.ResetFactorsView.as_view()),
]
