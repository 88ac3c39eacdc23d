"""requests-oauth2client, which checks the answer's issuer by itself."""

from door import CALLBACK, ENDPOINT, URL, allow, live, post
from requests_oauth2client import OAuth2Client

_, registered = post("/oauth/register", {"client_name": "requests", "redirect_uris": [CALLBACK]})
client = OAuth2Client.from_discovery_endpoint(
    f"{URL}/.well-known/oauth-authorization-server",
    issuer=URL,
    client_id=registered["client_id"],
    redirect_uri=CALLBACK,
    testing=True,
)


def refresh(token):
    pair = client.refresh_token(token)
    return pair.access_token, pair.refresh_token


asked = client.authorization_request(scope="mcp openid", resource=ENDPOINT)
pair = client.authorization_code(asked.validate_callback(allow(asked.uri)))
live(pair.access_token, pair.refresh_token, refresh, registered["client_id"])
