"""The calls that clients make: OAuth 2.1 for public clients, as far as MCP requires it. `consent`
has the pages for users. `docs/decisions/oauth-server.md` says why no library is used.
"""

from collections.abc import Callable
from typing import ClassVar

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, QueryDict
from rest_framework.exceptions import APIException
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.views import CountedView
from assistants.errors import InvalidClient, InvalidGrant, OAuthError, TooManyTokenRequests
from assistants.metadata import GRANT_TYPES, PUBLIC_CLIENT, SCOPE, read_client_metadata
from assistants.models import (
    ACCESS_TOKEN_SALT,
    CODE_SALT,
    REFRESH_TOKEN_SALT,
    Client,
    Grant,
    read_grant_token,
)
from base.urls import split_url, web_origin
from throttling.throttles import CredentialThrottle

SERVER_URL = settings.SERVICE_URL
RESOURCE_URL = f"{SERVER_URL}/mcp"  # the endpoint's URL is its name (RFC 8707 §2)


def check_resource(query: QueryDict) -> None:
    """Raise OAuthError for a `resource` other than ours (RFC 8707 §2). A missing or empty one (RFC
    6749 §3.1) means ours. The requested scope is ignored: there is only one (RFC 6749 §3.3)."""
    resources = filter(None, query.getlist("resource"))
    if any(canonical_url(resource) != canonical_url(RESOURCE_URL) for resource in resources):
        raise OAuthError("invalid_target", f"The resource must be {RESOURCE_URL}")


def canonical_url(url: str) -> str | None:
    """The URL's web origin and path, without a slash at the end. None for an invalid URL or one
    with a fragment."""
    parts = split_url(url)
    return parts and web_origin(url) + parts.path.removesuffix("/")


def find_client(request: Request) -> Client:
    """The client of the form's `client_id`. Raises InvalidClient, with status 401 if the request
    has an Authorization header or a `client_secret` (RFC 6749 §5.2), else 400."""
    try:
        return Client.objects.find_by_client_id(request.POST.get("client_id", ""))
    except InvalidClient as error:
        if "Authorization" in request.headers or "client_secret" in request.POST:
            error.status_code = 401
        raise


def resource_metadata() -> dict[str, object]:
    """Metadata of the protected resource (RFC 9728)."""
    return {
        "resource": RESOURCE_URL,
        "authorization_servers": [SERVER_URL],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
        "resource_name": "Consulting management",
    }


def server_metadata() -> dict[str, object]:
    """Metadata of the authorization server (RFC 8414)."""
    return {
        "issuer": SERVER_URL,
        "authorization_endpoint": f"{SERVER_URL}/oauth/authorize",
        "token_endpoint": f"{SERVER_URL}/oauth/token",
        "registration_endpoint": f"{SERVER_URL}/oauth/register",
        "revocation_endpoint": f"{SERVER_URL}/oauth/revoke",
        "jwks_uri": f"{SERVER_URL}/.well-known/jwks.json",  # for verifiers of the API's tokens
        "scopes_supported": [SCOPE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANT_TYPES,
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": settings.ASSISTANT_METADATA_DOCUMENTS,
    }


class MetadataView(CountedView):
    """GET /.well-known/oauth-…"""

    schema = None
    document: Callable[[], dict[str, object]] = staticmethod(resource_metadata)

    def get(self, request: Request) -> Response:
        return Response(self.document(), headers={"Cache-Control": "public, max-age=300"})


class RegisterView(CountedView):
    """POST /oauth/register (RFC 7591)."""

    schema = None  # clients find it by the metadata
    throttle_classes = [CredentialThrottle]

    def post(self, request: Request) -> Response:
        """Create a client with the name, if any, and the allowed redirect URIs in the JSON body,
        and answer 201 with these and its `client_id`. Raises OAuthError if no URI is allowed or the
        name is not a string, and ParseError or UnsupportedMediaType for a body that is no JSON
        object."""
        client = Client.objects.register_client(**read_client_metadata(request.data))
        answer = {
            "client_id": str(client.pk),
            "client_id_issued_at": int(client.created_at.timestamp()),
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
        }
        return Response(answer | PUBLIC_CLIENT, 201)


class GrantThrottle(CredentialThrottle):
    """Counts by grant, if it can. Hosted assistants call for many users from one address, and users
    must not use up each other's limit."""

    exceeded: ClassVar[type[APIException]] = TooManyTokenRequests

    def caller_key(self, request: HttpRequest | Request, view: APIView | None) -> str:
        """ "grant:" and the id of the grant whose code or refresh token is in the form; the
        client's address if there is none, or the body is no form or too large."""
        address = super().caller_key(request, view)
        # CountedView checks the body's size only after the count.
        if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return address
        try:
            form = request.POST
        except (APIException, SuspiciousOperation):  # it is malformed
            return address
        for name, salt in {"code": CODE_SALT, "refresh_token": REFRESH_TOKEN_SALT}.items():
            grant_id, _ = read_grant_token(salt, form.get(name, ""))
            if grant_id.int:
                return f"grant:{grant_id}"
        return address


class TokenView(CountedView):
    """POST /oauth/token: exchange a code or a refresh token for a pair of tokens."""

    schema = None
    parser_classes = [FormParser]
    throttle_classes = [GrantThrottle]

    def post(self, request: Request) -> Response:
        """Answer a public client, which has no secret, with new tokens. Raises OAuthError, of which
        InvalidClient and InvalidGrant are kinds, and UnsupportedMediaType (415) for a body that is
        no form."""
        form = request.POST
        methods = {"authorization_code": self.redeem_code, "refresh_token": self.refresh_tokens}
        method = methods.get(form.get("grant_type", ""))
        if method is None:
            reason = "The grant_type must be authorization_code or refresh_token"
            raise OAuthError("unsupported_grant_type", reason)
        check_resource(form)
        return Response(method(form, find_client(request)).token_response())

    def redeem_code(self, form: QueryDict, client: Client) -> Grant:
        """Use up the form's `code` and return its grant. Raises InvalidGrant for an unknown code or
        another client's, another `redirect_uri`, which may be missing or empty, a wrong
        `code_verifier`, and last for a code that is too old or was used, or whose grant has ended:
        a stolen code alone can be neither used nor spoilt."""
        grant, _ = Grant.objects.find_by_token(client, CODE_SALT, form.get("code", ""))
        # RFC 6749 §3.2: a parameter without a value counts as missing.
        if (form.get("redirect_uri") or grant.redirect_uri) != grant.redirect_uri:
            raise InvalidGrant
        grant.redeem(form.get("code_verifier", ""))
        return grant

    def refresh_tokens(self, form: QueryDict, client: Client) -> Grant:
        token = form.get("refresh_token", "")
        grant, generation = Grant.objects.find_by_token(client, REFRESH_TOKEN_SALT, token)
        grant.rotate_refresh_token(generation)
        return grant


class RevokeView(CountedView):
    """POST /oauth/revoke (RFC 7009)."""

    schema = None
    parser_classes = [FormParser]
    throttle_classes = [CredentialThrottle]

    def post(self, request: Request) -> Response:
        """End the grant of the form's `token`, an access or refresh token of the public client that
        its `client_id` names. Answers
        200 also for an invalid one (RFC 7009 §2.2). Raises InvalidClient, and UnsupportedMediaType
        for a body that is no form."""
        client = find_client(request)
        token = request.POST.get("token", "")
        ids = [read_grant_token(salt, token)[0] for salt in (ACCESS_TOKEN_SALT, REFRESH_TOKEN_SALT)]
        for grant in client.grants.filter(pk__in=ids).select_related("user", "client"):
            grant.end(actor=grant.user, reason="revoked by the client")
        return Response()
