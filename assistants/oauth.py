"""How a program gets its tokens: OAuth 2.1 for public clients, in the part that MCP asks for.

Metadata (RFC 9728, RFC 8414), registration (RFC 7591), the token endpoint (RFC 6749 §3.2, with
PKCE, RFC 7636) and revocation (RFC 7009); the page where a person decides is in `consent`.

Authlib was tried for it, and is not used. What needs care here (a code that works once under races,
rotation that notices a copy, PKCE that is required and S256 alone, loopback ports, `resource`) it
leaves to its user; what it would have brought is some sixty lines. Against them stood a second
request path beside DRF's, and a 500 for a hostile redirect URI (whose characters it refuses to put
into the error's description) and for registrations of wrong JSON types.

The contract: decisions §11.
"""

from collections.abc import Callable, Iterable
from typing import ClassVar, NoReturn

from django.conf import settings
from django.core import signing
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, QueryDict
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import APIException
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from accounts.generics import CredentialView, Data
from assistants import tokens
from assistants.exceptions import (
    InvalidClient,
    InvalidClientMetadata,
    InvalidGrant,
    InvalidRedirectURI,
    InvalidRequest,
    InvalidTarget,
    TooManyTokenRequests,
    UnsupportedGrantType,
)
from assistants.models import CODE, REFRESH_TOKEN, Client, Grant
from assistants.serializers import (
    GRANT_TYPES,
    SCOPE,
    AuthorizationServer,
    ProtectedResource,
    Registered,
    RegistrationSerializer,
    RevocationForm,
    TokenForm,
    TokenPair,
)
from assistants.tokens import RESOURCE
from audit.macs import Signer
from throttling.openapi import Raises, body
from throttling.throttles import CredentialThrottle, PublicThrottle
from throttling.views import CountedView, check_body_size

EXAMPLE_URI = "http://127.0.0.1:3030/callback"


def single_param(parameters: QueryDict, name: str, default: str = "") -> str:
    """A parameter's value; InvalidRequest where it is there twice (RFC 6749 §3.1), or missing
    though there is no default for it."""
    values = parameters.getlist(name)
    if len(values) > 1:
        raise InvalidRequest(f"The parameter {name} is there twice.")
    return values[0] if values else default


def check_target(parameters: QueryDict) -> None:
    """Refuse a `resource` that is not ours; where it is missing, ours is meant. Of scopes there is
    one, which everybody gets, whatever they ask for (RFC 6749 §3.3): the answer says so."""
    if with_lower_host(single_param(parameters, "resource", RESOURCE)) != RESOURCE:
        raise InvalidTarget(f"The resource must be {RESOURCE}")
    single_param(parameters, "scope")


def with_lower_host(uri: str) -> str:
    """The URI, with scheme and host as RFC 3986 §6.2.2.1 has them: there the case is nothing."""
    scheme, separator, rest = uri.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}{separator}{host.lower()}{slash}{path}"


class OpenView(CountedView):
    """Answers scripts of any origin, and looks at no cookie. Its paths are none of the middleware's
    for CORS, which would let a script send cookies along (settings, CORS_URLS_REGEX)."""

    http_method_names = [*CountedView.http_method_names, "options"]

    def get_throttles(self) -> list[BaseThrottle]:
        return [PublicThrottle()] if self.request.method == "OPTIONS" else super().get_throttles()

    def options(  # type: ignore[override]
        self, request: Request, *args: object, **kwargs: object
    ) -> Response:
        """A browser asks what a script may send (a preflight)."""
        allowed = {
            "Access-Control-Allow-Methods": ", ".join(self.allowed_methods),
            "Access-Control-Allow-Headers": ", ".join(settings.CORS_ALLOW_HEADERS),
            "Access-Control-Max-Age": "86400",
        }
        return Response(status=204, headers=allowed)

    def finalize_response(
        self, request: Request, response: Response, *args: object, **kwargs: object
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Expose-Headers"] = ", ".join(settings.CORS_EXPOSE_HEADERS)
        return response


class ProtectedResourceView(OpenView):
    """GET /.well-known/oauth-protected-resource, and …/mcp: who lets assistants in (RFC 9728)."""

    @extend_schema(
        summary="Who lets assistants in to the MCP endpoint",
        description="RFC 9728. `…/mcp` is another name of this call.",
        responses={200: ProtectedResource},
    )
    def get(self, request: Request) -> Response:
        return Response(
            {
                "resource": RESOURCE,
                "authorization_servers": [settings.SERVICE_URL],
                "scopes_supported": [SCOPE],
                "bearer_methods_supported": ["header"],
                "resource_name": "Consulting management",
            },
            headers={"Cache-Control": "public, max-age=300"},
        )


class AuthorizationServerView(OpenView):
    """GET /.well-known/oauth-authorization-server: what is where, and what is spoken (RFC 8414)."""

    @extend_schema(
        summary="What the authorization server speaks, and where",
        description="RFC 8414. A browser is sent to `authorization_endpoint`, which is a page.",
        responses={200: AuthorizationServer},
    )
    def get(self, request: Request) -> Response:
        base = settings.SERVICE_URL
        return Response(
            {
                "issuer": base,
                "authorization_endpoint": f"{base}/oauth/authorize",
                "token_endpoint": f"{base}/oauth/token",
                "registration_endpoint": f"{base}/oauth/register",
                "revocation_endpoint": f"{base}/oauth/revoke",
                "jwks_uri": f"{base}/.well-known/jwks.json",
                "scopes_supported": [SCOPE],
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": GRANT_TYPES,
                "token_endpoint_auth_methods_supported": ["none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
                "client_id_metadata_document_supported": settings.ASSISTANT_METADATA_DOCUMENTS,
            },
            headers={"Cache-Control": "public, max-age=300"},
        )


class RegisterView(OpenView, CredentialView):
    """POST /oauth/register: a program says its name and where it gets its answers."""

    @extend_schema(
        operation_id="registerAssistant",
        summary="Register an assistant",
        description="RFC 7591, without authentication: clients are public, and their names their "
        "own claims. What a client asks for and cannot have is replaced or left out: read the "
        "answer. One that nobody lets in is forgotten after a day.",
        request=RegistrationSerializer,
        responses={201: Registered, 400: Raises(InvalidRedirectURI, InvalidClientMetadata)},
        examples=body("An assistant", client_name="Claudia", redirect_uris=[EXAMPLE_URI]),
    )
    def post(self, request: Request) -> Response:
        metadata = self.metadata(request)
        name = metadata.pop("client_name")
        client = Client.objects.register(name, metadata["redirect_uris"])
        issued_at = int(client.created_at.timestamp())
        issued = {"client_id": str(client.pk), "client_id_issued_at": issued_at}
        return Response(issued | {"client_name": name} | metadata | {"scope": SCOPE}, 201)

    def metadata(self, request: Request) -> Data:
        checked = RegistrationSerializer(data=request.data)
        if not checked.is_valid():
            self.refuse(checked.errors)
        return dict(checked.validated_data)

    def refuse(self, errors: Iterable[str]) -> NoReturn:
        if "redirect_uris" in errors:
            raise InvalidRedirectURI("redirect_uris: at least one must be https or loopback http.")
        raise InvalidClientMetadata(f"Not as it should be: {', '.join(errors)}.")


class FormView(CredentialView):
    """A call of the credential tier whose body is a form, as OAuth has it."""

    parser_classes = [FormParser]

    def client(self, form: QueryDict) -> Client:
        """Who calls: a public client says its id, and proves nothing by it."""
        if "client_secret" in form:
            raise InvalidRequest("Clients here have no secret.")
        return Client.objects.find(single_param(form, "client_id"))


class GrantThrottle(CredentialThrottle):
    """By the grant that a code or a refresh token of ours names, else by address: many people's
    assistants come from one address, and none of them may hold up another's."""

    exceeded: ClassVar[type[APIException]] = TooManyTokenRequests

    def caller(self, request: HttpRequest | Request, view: APIView | None) -> str:
        grant = grant_named(request) if isinstance(request, Request) else None
        return f"grant:{grant}" if grant else super().caller(request, view)


def grant_named(request: Request) -> str | None:
    """The id of the grant whose code or refresh token the form brings; no more than its signature
    has been looked at. The one body that is read before it is counted: a form of 64 KiB."""
    try:
        check_body_size(request)
        form = request.POST
    except (APIException, SuspiciousOperation):
        return None
    for salt, name in [(CODE, "code"), (REFRESH_TOKEN, "refresh_token")]:
        try:
            return str(Signer(salt=salt).unsign_object(form.get(name, ""))[0])
        except (signing.BadSignature, ValueError):
            continue
    return None


class TokenView(OpenView, FormView):
    """POST /oauth/token: a code, or a refresh token, for a pair of tokens."""

    throttle_classes = [GrantThrottle]

    @extend_schema(
        summary="Get an assistant's tokens",
        description="A code and its verifier, or a refresh token, for a new pair (RFC 6749, RFC "
        "7636). A code is good once: a second use ends the grant. A refresh token is replaced by "
        "its use; for 30 s the one before gets the current pair, too, since clients call in "
        "parallel and lose answers; any older one ends the grant. The access token is good at the "
        "MCP endpoint alone. Counted by grant once the code's or token's signature holds.",
        request={FormParser.media_type: TokenForm},
        responses={
            200: TokenPair,
            400: Raises(
                InvalidRequest,
                InvalidClient,
                InvalidGrant,
                InvalidTarget,
                UnsupportedGrantType,
            ),
            429: Raises(TooManyTokenRequests),
        },
    )
    def post(self, request: Request) -> Response:
        form = request.POST
        grant_types: dict[str, Callable[[QueryDict], Grant]] = {
            "authorization_code": self.by_code,
            "refresh_token": self.by_refresh_token,
        }
        found = grant_types.get(single_param(form, "grant_type"))
        if found is None:
            raise UnsupportedGrantType("The grant_type must be authorization_code or refresh_token")
        check_target(form)
        return Response(self.pair(found(form)))

    def by_code(self, form: QueryDict) -> Grant:
        """All that the code is bound to comes before its use: a stranger who has no more than the
        code can neither use it nor spoil it."""
        client = self.client(form)
        grant, _ = Grant.objects.find(CODE, single_param(form, "code"))
        if (
            grant.client_id != client.pk
            or single_param(form, "redirect_uri", grant.redirect_uri) != grant.redirect_uri
            or not grant.is_answered_by(single_param(form, "code_verifier"))
        ):
            raise InvalidGrant("The code is not for this client, redirect_uri or code_verifier")
        grant.redeem()
        return grant

    def by_refresh_token(self, form: QueryDict) -> Grant:
        client = self.client(form)
        grant, generation = Grant.objects.find(REFRESH_TOKEN, single_param(form, "refresh_token"))
        if grant.client_id != client.pk:
            raise InvalidGrant("The refresh token is not for this client")
        grant.rotate(generation)
        return grant

    def pair(self, grant: Grant) -> dict[str, object]:
        """RFC 6749 §5.1. `expires_in` is there, since clients of OAuth refresh by it."""
        token = tokens.AssistantToken.for_grant(grant)
        return {
            "access_token": str(token),
            "token_type": "Bearer",
            "expires_in": token["exp"] - token["iat"],
            "refresh_token": grant.refresh_token,
            "scope": SCOPE,
        }


class RevokeView(FormView):
    """POST /oauth/revoke: the client gives its grant back, by either token (RFC 7009).

    A token that does not hold is no error (§2.2): there is nothing left to revoke.
    """

    @extend_schema(
        summary="Give an assistant's grant back",
        description="By its access or refresh token (RFC 7009). One that is dead is no error.",
        request={FormParser.media_type: RevocationForm},
        responses={200: None, 400: Raises(InvalidRequest, InvalidClient)},
    )
    def post(self, request: Request) -> Response:
        form = request.POST
        client = self.client(form)
        grant = self.grant(single_param(form, "token"))
        if grant is not None and grant.client_id == client.pk:
            grant.end(actor=grant.user, reason="revoked by the client")
        return Response()

    def grant(self, token: str) -> Grant | None:
        access = tokens.read(token)
        if access is not None:
            return Grant.objects.select_related("user", "client").filter(pk=access["grant"]).first()
        try:
            return Grant.objects.find(REFRESH_TOKEN, token)[0]
        except InvalidGrant:
            return None
