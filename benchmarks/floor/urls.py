"""The floors: what Django and Django REST framework cost before they do anything, and what the
cryptography of a sign-in and of a refresh costs on top, under the same load."""

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.hashers import check_password, make_password
from django.http import HttpRequest, JsonResponse
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ENCODED = make_password("correct horse battery")
CLAIMS = {"sub": "d6f0e1c8-6f5a-4be5-8b5f-2a1f0f1f0f1f", "role": "admin", "iat": 1, "exp": 2}


def django(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


class Bare(APIView):
    def get(self, request: Request) -> Response:
        return Response({"status": "ok"})


class Signatures(APIView):
    """What no refresh can do without."""

    def get(self, request: Request) -> Response:
        pair = [jwt.encode(CLAIMS, KEY, "RS256", headers={"kid": "one"}) for _ in range(2)]
        return Response({"pair": pair})


class SignIn(Signatures):
    """What no log-in can do without."""

    def get(self, request: Request) -> Response:
        check_password("correct horse battery", ENCODED)
        return super().get(request)


urlpatterns = [
    path("django", django),
    path("drf", Bare.as_view()),
    path("signatures", Signatures.as_view()),
    path("sign-in", SignIn.as_view()),
]
