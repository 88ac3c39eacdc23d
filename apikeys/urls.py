from django.urls import path

from apikeys import check, feed, views

urlpatterns = [
    path("account/api-keys", views.ApiKeysView.as_view()),
    path("account/api-keys/<uuid:key_id>", views.ApiKeyView.as_view()),
    path("auth/check", check.CheckView.as_view()),
    path("events", feed.FeedView.as_view()),
]
