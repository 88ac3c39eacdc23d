"""SCIM 2.0 (RFC 7644) by scim2-server, over the users of an API key's company.

Importing this module takes 1.2 s of CPU. config.wsgi does so before the workers fork, and ScimView
imports it in its call, so that no request and no command waits for it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import transaction
from rest_framework.request import Request
from scim2_models import (
    Context,
    InvalidFilterException,
    InvalidValueException,
    Meta,
    NotFoundException,
    PatchOp,
    Resource,
    ResourceType,
    ResponseParameters,
    SCIMException,
    SearchRequest,
)
from scim2_server.conditions import Conditions
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse
from scim2_server.service import ScimService
from scim2_server.storage import ScimStorage, SearchPage

from accounts import models as accounts
from apikeys.models import ApiKey
from scim import resources
from scim.errors import ScimError
from scim.filters import MAX_FILTER_LENGTH, is_id, matching
from scim.models import Entry, ScimUser, row_of

MAX_OPERATIONS = 50  # of a PATCH
MAX_ATTRIBUTES = 50  # that a request names as those to answer with
BASE_URL = f"{settings.SERVICE_URL}/scim/v2"


class Service(ScimService):
    """The protocol, with bounds on what a request can ask for."""

    def publish(self, base_url: str, resource: Resource[Any]) -> Resource[Any]:
        """The resource with its location. The library would copy it: the storage makes a new one
        for each answer, and its users refer to no other resource."""
        user = cast(Any, resource)
        user.meta.location = f"{base_url}/Users/{user.id}"
        return resource

    def read_search(
        self, resource_types: list[ResourceType], payload: Any
    ) -> tuple[SearchRequest[Any], Any]:
        if isinstance(payload, dict):
            names = {str(name).lower(): value for name, value in payload.items()}
            require_few_attributes(names)
            if len(str(names.get("filter", ""))) > MAX_FILTER_LENGTH:
                raise InvalidFilterException(
                    detail=f"the filter has more than {MAX_FILTER_LENGTH} characters"
                )
        return super().read_search(resource_types, payload)

    def read_response_parameters(
        self, resource_type: ResourceType, query: Mapping[str, str]
    ) -> ResponseParameters[Any]:
        require_few_attributes({name.lower(): value for name, value in query.items()})
        return super().read_response_parameters(resource_type, query)

    def search_response(
        self,
        base_url: str,
        resource_types: list[ResourceType],
        page: SearchPage,
        search_request: SearchRequest[Any],
    ) -> ScimResponse:
        """The page as JSON. The library would validate each resource again, which takes two thirds
        of the call."""
        items = [
            self.publish(base_url, resource).model_dump(
                scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=search_request
            )
            for resource in page.resources
        ]
        body = {
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
            "totalResults": page.total,
            "startIndex": search_request.start_index,
            "itemsPerPage": len(items),
            "Resources": items,
        }
        return ScimResponse(HTTPStatus.OK, body)

    def apply_replacement(
        self, current: Resource[Any], replacement: Resource[Any], conditions: Conditions
    ) -> Resource[Any] | None:
        """What a PUT leaves out stays as it is (RFC 7644 §3.5.1 lets a service choose)."""
        for name in ("external_id", "name", "active"):
            if getattr(replacement, name) is None:
                setattr(replacement, name, getattr(current, name))
        return super().apply_replacement(current, replacement, conditions)

    def read_patch(
        self, resource_type: ResourceType, body: bytes, content_type: str | None
    ) -> "PatchOp[Any]":
        """Counts the operations before it checks them."""
        payload = self.decode_body(body, content_type)
        operations = payload.get("Operations") if isinstance(payload, dict) else None
        if isinstance(operations, list) and len(operations) > MAX_OPERATIONS:
            raise InvalidValueException(detail=f"more than {MAX_OPERATIONS} operations")
        patch_op: Any = PatchOp[resources.WritableUser]
        context = Context.RESOURCE_PATCH_REQUEST
        return cast("PatchOp[Any]", self.read_body(patch_op, body, content_type, context))

    def apply_patch(
        self, current: Resource[Any], patch_op: "PatchOp[Any]", conditions: Conditions
    ) -> Resource[Any] | None:
        names = resources.WritableUser.model_fields
        writable = resources.WritableUser(**{name: getattr(current, name) for name in names})
        return writable if patch_op.patch(writable) else None

    def patch_response(
        self,
        base_url: str,
        resource: Resource[Any],
        response_parameters: ResponseParameters[Any],
    ) -> ScimResponse:
        """The user, which Okta reads."""
        return self.replacement_response(base_url, resource, response_parameters)


def require_few_attributes(parameters: Mapping[str, Any]) -> None:
    """Raise InvalidValueException if a request names more than MAX_ATTRIBUTES attributes."""
    for name in ("attributes", "excludedattributes"):
        names = parameters.get(name) or ()
        if len(names.split(",") if isinstance(names, str) else names) > MAX_ATTRIBUTES:
            raise InvalidValueException(detail=f"{name} has more than {MAX_ATTRIBUTES} names")


class UserStorage(ScimStorage):
    """The users whom the key sees. One storage serves one request."""

    def __init__(self, key: ApiKey, *, is_writing: bool) -> None:
        self.key, self.is_writing = key, is_writing

    @contextmanager
    def operation(self) -> Iterator[None]:
        """A writing request is one transaction. It locks the company first, and then checks that
        the key has not ended meanwhile: deleting the company ends its keys under that lock."""
        if not self.is_writing:
            yield
            return
        with transaction.atomic():
            accounts.Account.objects.lock(cast(UUID, self.key.account_id))
            self.key.require_live()
            yield

    def find(self, resource_id: str) -> accounts.User:
        """The user with this id. Raises NotFoundException, also for users whom the key doesn't
        see."""
        users = ScimUser.objects.seen_by(self.key)
        user = users.filter(pk=resource_id).first() if is_id(resource_id) else None
        if user is None:
            raise NotFoundException(detail="no user has this id")
        return user

    def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> resources.User:
        return resource_of(self.find(resource_id))

    def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,
    ) -> SearchPage:
        """A page of the users, by id. A page past the end takes no query for users."""
        users = ScimUser.objects.seen_by(self.key).order_by("pk")
        if search_request.filter is not None:
            users = matching(users, search_request.filter)
        start, count = search_request.start_index_0 or 0, search_request.count or 0
        if start:
            total = users.count()
            page = list(users[start : start + count]) if start < total and count else []
        else:
            page = list(users[:count]) if count else []
            total = len(page) if len(page) < count else users.count()
        return SearchPage(total, [resource_of(user) for user in page])

    def create(self, resource_type: ResourceType, resource: Resource[Any]) -> resources.User:
        return resource_of(ScimUser.objects.provision(self.key, entry_of(resource)))

    def update(
        self,
        resource_type: ResourceType,
        resource: Resource[Any],
        *,
        expected_version: str | None = None,
    ) -> resources.User:
        user = self.find(str(resource.id))
        ScimUser.objects.change(self.key, user, entry_of(resource, user))
        return resource_of(user)

    def delete(
        self, resource_type: ResourceType, resource_id: str, *, expected_version: str | None = None
    ) -> None:
        ScimUser.objects.remove(self.key, self.find(resource_id))


def resource_of(user: accounts.User) -> resources.User:
    """The user as SCIM shows it."""
    row, full_name = row_of(user), user.get_full_name()
    return resources.User(
        id=str(user.pk),
        external_id=row.external_id or None,
        user_name=str(user.email),
        name=resources.Name(
            formatted=full_name or None,
            family_name=user.last_name or None,
            given_name=user.first_name or None,
        ),
        display_name=full_name or None,
        active=user.is_active,
        emails=[resources.Email(value=str(user.email), type="work", primary=True)],
        meta=Meta(resource_type="User", created=user.created_at, last_modified=row.changed_at),
    )


def entry_of(resource: Any, user: accounts.User | None = None) -> Entry:
    """What the resource says about the user, who is None before its creation.

    A full name counts only where given and family name are unchanged. Its last word is then the
    family name.
    """
    name = resource.name or resources.Name()
    names = name.given_name or "", name.family_name or ""
    if names == ((user.first_name, user.last_name) if user else ("", "")):
        present = user.get_full_name() if user else ""
        for text in (resource.display_name, name.formatted):
            if text and text.strip() != present:
                given_names, _, family_name = text.strip().rpartition(" ")
                names = given_names.strip(), family_name
                break
    return Entry(resource.user_name, *names, resource.external_id or "", resource.active)


SERVICE = Service(resources.PROVIDER)


def answer(request: Request, path: str) -> ScimResponse:
    """Serve an API key's request; the path is that below BASE_URL. Raises ScimError for what the
    library refuses, and the errors of the rules in scim.models."""
    method = "GET" if request.method == "HEAD" else str(request.method)
    is_writing = method != "GET" and not path.rstrip("/").endswith(".search")
    storage = UserStorage(cast(Any, request.user), is_writing=is_writing)
    headers = {"Content-Type": request.META.get("CONTENT_TYPE", "")}
    query = request.query_params.dict()
    scim_request = ScimRequest(method, BASE_URL, path, query, headers, request.body)
    try:
        if path.strip("/") in {"", ".search"}:
            raise NotFoundException
        return ScimHandler(SERVICE, storage).handle(scim_request)
    except SCIMException as error:
        allowed = getattr(error, "allowed", [])
        raise ScimError(error.status, str(error), error.scim_type, allowed) from None
    except RecursionError:
        raise ScimError(400, "nested too deeply", "invalidSyntax", []) from None
