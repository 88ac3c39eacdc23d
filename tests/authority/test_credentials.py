"""Each route takes the credentials that it is for, and answers others as it does a forged one."""

import pytest
from django.utils import timezone

from accounts import tokens
from accounts.models import User
from signin.factors.enrolment import enrolment_for
from tests.assistants.conftest import client, grant_of  # noqa: F401 - a fixture
from tests.clients import API
from tests.routes import ROUTES, url_of

pytestmark = pytest.mark.django_db
ADDING = {"/auth/factors/totp", "/auth/factors/totp/confirm"}
ADDING |= {"/auth/factors/passkeys", "/auth/factors/passkeys/options"}
MCP = {"/mcp", "/mcp/"}
# Paths that no user's access token opens: each asks for a credential of its own.
NOT_FOR_USERS = {"/metrics", "/auth/refresh", "/oauth/token", "/oauth/revoke"}
NOT_FOR_USERS |= {"/scim/v2/{path}"}


def grant_token(user, client):  # noqa: F811
    grant = grant_of(user, client)
    grant.redeemed_at = grant.used_at = timezone.now()
    grant.save()
    return grant.token_response()["access_token"]


# By name: the credential of a user, and the paths that take it.
CREDENTIALS = {
    "enrolment token": (lambda user, _: enrolment_for(user), ADDING),
    "assistant's token": (grant_token, MCP),
    "refresh token": (lambda user, _: str(tokens.issue_pair(user)[1]), set()),
    "access token": (
        lambda user, _: str(tokens.issue_pair(user)[0]),
        {route.path for route in ROUTES} - NOT_FOR_USERS,
    ),
}


def ask(credential, method, path):
    answer = API(authorization=f"Bearer {credential}").call(method.lower(), url_of(path), {})
    refusal = answer.content if answer.status_code == 401 else b""
    return answer.status_code, refusal, answer.get("WWW-Authenticate")


@pytest.mark.parametrize("name", CREDENTIALS)
def test_route_takes_its_own_credentials_only(name, ada, client, settings):  # noqa: F811
    settings.METRICS_TOKEN = "what Prometheus brings"
    make, paths = CREDENTIALS[name]
    for route in ROUTES:
        for method in route.methods:
            credential = make(User.objects.get(pk=ada.pk), client)  # a call may end its sessions
            answer = ask(credential, method, route.path)
            assert answer[0] != 500, f"{method} {route.path} fails with the {name}"
            if route.path in paths:
                assert answer[0] != 401, f"{method} {route.path} doesn't take the {name}"
            else:
                forged = ask(f"{credential}x", method, route.path)
                assert answer == forged, f"{method} {route.path} takes the {name}"
