from django.urls import re_path

from scim.views import ScimView

urlpatterns = [re_path("^scim/v2/(?P<path>.*)$", ScimView.as_view())]
