"""What the document shows of signing in: examples, and the cookies that are set."""

from accounts.serializers import ADA_RESPONSE
from throttling.openapi import sets_cookie

LINK = "AZOsR1Wb…"
ADA = {"first_name": "Ada", "last_name": "Lovelace", "password": "correct horse battery"}
TOKEN = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsxIn0.eyJzdWIiOiIwYjlhM2E1MiJ9.c2lnbmF0dXJl"  # noqa: S105
SIGN_IN_RESPONSE = {
    "access_token": TOKEN,
    "refresh_token": TOKEN,
    "token_type": "Bearer",
    "user": ADA_RESPONSE,
}

COOKIE = sets_cookie("`service_refresh`: the refresh token; HttpOnly, `Path=/auth`.", 200)
CLEARED = sets_cookie("`service_refresh`, emptied.", 204)
