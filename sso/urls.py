from django.urls import path

from sso import configuration, views

urlpatterns = [
    path("auth/sso", views.FindProviderView.as_view()),
    path("auth/sso/confirm", views.ReauthenticateAtProviderView.as_view()),
    path("auth/sso/redeem", views.RedeemHandoverCodeView.as_view()),
    path("auth/sso/<uuid:connection_id>/start", views.StartAtProviderView.as_view()),
    path("auth/sso/<uuid:connection_id>/callback", views.ReturnFromProviderView.as_view()),
    path("account/connection", configuration.IdentityProviderView.as_view()),
    path("account/connection/test", views.TestProviderView.as_view()),
    path("account/domains", configuration.DomainsView.as_view()),
    path("account/domains/<uuid:domain_id>", configuration.DomainView.as_view()),
    path("account/domains/<uuid:domain_id>/prove", configuration.ProveDomainView.as_view()),
]
