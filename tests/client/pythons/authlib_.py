"""Authlib: a session that is given the metadata's addresses."""

import json
import os
import urllib.request

from door import CALLBACK, ENDPOINT, URL, allow, live, post

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
from authlib.integrations.requests_client import OAuth2Session

with urllib.request.urlopen(f"{URL}/.well-known/oauth-authorization-server") as answer:
    server = json.loads(answer.read())
_, client = post("/oauth/register", {"client_name": "Authlib", "redirect_uris": [CALLBACK]})


def session():
    return OAuth2Session(
        client["client_id"],
        redirect_uri=CALLBACK,
        scope="mcp offline_access",
        code_challenge_method="S256",
        token_endpoint_auth_method="none",
    )


def refresh(token):
    pair = session().refresh_token(server["token_endpoint"], refresh_token=token)
    return pair["access_token"], pair["refresh_token"]


first, verifier = session(), "v" * 50
address, _ = first.create_authorization_url(
    server["authorization_endpoint"], code_verifier=verifier, resource=ENDPOINT
)
pair = first.fetch_token(
    server["token_endpoint"], authorization_response=allow(address), code_verifier=verifier
)
live(pair["access_token"], pair["refresh_token"], refresh, client["client_id"])
