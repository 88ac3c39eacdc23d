from django.urls import path

from sso import company, views

urlpatterns = [
    path("auth/sso", views.DiscoverView.as_view()),
    path("auth/sso/confirm", views.ReauthenticationView.as_view()),
    path("auth/sso/redeem", views.RedeemView.as_view()),
    path("auth/sso/<uuid:connection_id>/start", views.StartView.as_view()),
    path("auth/sso/<uuid:connection_id>/callback", views.CallbackView.as_view()),
    path("account/connection", company.ConnectionView.as_view()),
    path("account/connection/test", views.TestView.as_view()),
    path("account/domains", company.DomainsView.as_view()),
    path("account/domains/<uuid:domain_id>", company.DomainView.as_view()),
    path("account/domains/<uuid:domain_id>/prove", company.ProveView.as_view()),
]
