"""SCIM 2.0 (RFC 7644) by scim2-server, over the users of an API key's company.

Importing this module takes 1.2 s of CPU. config.wsgi does so before the workers fork, and ScimView
imports it in its call, so that no request and no command waits for it.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated, Any, cast
from uuid import UUID

import scim2_models as scim2
from django.conf import settings
from django.db import transaction
from pydantic import ValidationError
from rest_framework.request import Request
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse
from scim2_server.service import ScimService, patch_only_config
from scim2_server.storage import ScimStorage, SearchPage

from accounts import models as accounts
from apikeys.models import ApiKey
from scim.errors import ScimError
from scim.filters import MAX_FILTER_LENGTH, Conditions, is_id
from scim.models import Entry, ScimUser, row_of

MAX_OPERATIONS = 50  # of a PATCH
TOO_LONG = f"more than {MAX_FILTER_LENGTH} characters"
DEFAULT_PAGE, MAX_PAGE = 100, 200  # users in an answer
NOT_STORED = {"schemas", "id", "meta", "emails"}  # members of a body, in lower case
BASE_URL = f"{settings.SERVICE_URL}/scim/v2"
WORD = re.compile(r"\w+")
# Parts of full names, such as "(IT)", "[EXT]" or " - Sales", and such as ", Jr." or ", PhD".
REMARK = re.compile(r"[(\[][^)\]]*[)\]]?|\s[-\u2013\u2014]\s.*", re.DOTALL)
SUFFIX = re.compile(r",\s*(?:jr|sr|ii|iii|ph\.?\s?d|m\.?d)\b\.?\s*$", re.IGNORECASE)
COMPARISON = re.compile(r'\s*([\w:.]+\s+\w+)\s+([^\s"\\()\[\]]+)\s*')  # with an unquoted value


class Name(scim2.ComplexAttribute):
    formatted: str | None = None
    family_name: str | None = None
    given_name: str | None = None


class Email(scim2.ComplexAttribute):
    value: str | None = None
    type: str | None = None
    primary: bool | None = None


class WritableUser(scim2.Resource[Any]):
    """What PATCH can change. An operation on anything else, such as `emails`, changes nothing."""

    __schema__ = scim2.URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, scim2.Uniqueness.server, scim2.Required.true] = None
    name: Name | None = None
    display_name: str | None = None
    active: bool | None = None


class User(WritableUser):
    """A user of the company. `emails` has the `userName`."""

    emails: Annotated[list[Email] | None, scim2.Mutability.read_only] = None


CONFIG = patch_only_config()
CONFIG.filter = scim2.Filter(supported=True, max_results=MAX_PAGE)
CONFIG.pagination = scim2.Pagination(
    cursor=False, index=True, default_page_size=DEFAULT_PAGE, max_page_size=MAX_PAGE
)
CONFIG.authentication_schemes = [
    scim2.AuthenticationScheme(
        type=scim2.AuthenticationScheme.Type.oauthbearertoken,
        name="API key",
        description="An API key with the scope scim, as a bearer token.",
        primary=True,
    )
]
# Entra ID and Okta send attributes that no schema has, a `value` with `remove`, and paths that
# select what isn't there.
POLICY = scim2.ScimPolicy(
    unknown=scim2.ScimPolicy.Unknown.ignore,
    remove_value_as_filter=scim2.ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=scim2.ScimPolicy.UnmatchedPathFilter.create,
)


class Service(ScimService):
    """The protocol, with bounds on what a request can ask for."""

    def publish(self, base_url: str, resource: Any) -> Any:
        """The same resource, with its location. The library would copy it."""
        resource.meta.location = f"{base_url}/Users/{resource.id}"
        return resource

    def read_search(self, resource_types: Any, payload: Any) -> Any:
        """The search in the query or body, and its cursor, which is not served. Refuses a long
        filter before the library parses it."""
        if any(len(str(text)) > MAX_FILTER_LENGTH for text in members_named(payload, "filter")):
            raise scim2.InvalidFilterException(detail=TOO_LONG)
        for name in payload if isinstance(payload, dict) else ():
            if name.lower() == "filter":
                payload = payload | {name: quoted_filter(payload[name])}
        return super().read_search(resource_types, payload)

    def search_response(
        self, base_url: str, resource_types: Any, page: SearchPage, search_request: Any
    ) -> ScimResponse:
        """Return the page as a ListResponse (RFC 7644 §3.4.2). The library's method would validate
        each resource again, which takes two thirds of the call."""
        options: Any = {"scim_ctx": scim2.Context.RESOURCE_QUERY_RESPONSE}
        options["response_parameters"] = search_request
        resources = [self.publish(base_url, resource) for resource in page.resources]
        body = {
            "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
            "totalResults": page.total,
            "startIndex": search_request.start_index,
            "itemsPerPage": len(resources),
            "Resources": [resource.model_dump(**options) for resource in resources],
        }
        return ScimResponse(HTTPStatus.OK, body)

    def apply_replacement(self, current: Any, replacement: Any, conditions: Any) -> Any:
        """Return the user's state after a PUT; None if it changes nothing. An attribute that the
        PUT leaves out stays as it is (RFC 7644 §3.5.1 lets a service choose). A PUT with only a
        given or only a family name empties the other one. One with either has no use for a full
        name, which directories write in other ways, such as "Bee, Ann"."""
        parts = replacement.name
        if parts is not None and (parts.given_name or parts.family_name):
            replacement.display_name = parts.formatted = None
        for name in ("external_id", "name", "active"):
            if getattr(replacement, name) is None:
                setattr(replacement, name, getattr(current, name))
        if replacement.name.given_name is None and replacement.name.family_name is None:
            replacement.name.given_name = current.name.given_name
            replacement.name.family_name = current.name.family_name
        return super().apply_replacement(current, replacement, conditions)

    def read_body(self, model: Any, body: bytes, content_type: Any, scim_ctx: scim2.Context) -> Any:
        """Return the body as an instance of the model. Members that aren't stored are left out
        before they are validated: OneLogin sends other `schemas`, some directories two primary
        addresses. Raises a SCIMException for a body that isn't JSON or breaks a rule."""
        payload = self.decode_body(body, content_type)
        if isinstance(payload, dict):
            payload = {name: payload[name] for name in payload if name.lower() not in NOT_STORED}
        try:
            return model.model_validate(payload, scim_ctx=scim_ctx)
        except ValidationError as error:
            first_error = scim2.Error.from_validation_errors(error)[0]
            raise scim2.SCIMException.from_error(first_error) from None

    def read_patch(self, resource_type: Any, body: bytes, content_type: Any) -> Any:
        """Return the PatchOp of a WritableUser in the body. Raises a SCIMException for another
        body: before the library checks it, InvalidValueException for over MAX_OPERATIONS
        operations, and InvalidPathException for a path of over MAX_FILTER_LENGTH characters."""
        for operations in members_named(self.decode_body(body, content_type), "operations"):
            if not isinstance(operations, list):
                continue  # the library refuses it
            if len(operations) > MAX_OPERATIONS:
                raise scim2.InvalidValueException(detail=f"more than {MAX_OPERATIONS} operations")
            paths = [path for operation in operations for path in members_named(operation, "path")]
            if any(len(str(path)) > MAX_FILTER_LENGTH for path in paths):
                raise scim2.InvalidPathException(detail=TOO_LONG)
        patch_op: Any = scim2.PatchOp[WritableUser]
        return self.read_body(patch_op, body, content_type, scim2.Context.RESOURCE_PATCH_REQUEST)

    def apply_patch(self, current: Any, patch_op: Any, conditions: Any) -> Any:
        """A copy of the user with the changes of the PATCH; None if it changes nothing."""
        names = WritableUser.model_fields
        writable = WritableUser(**{name: getattr(current, name) for name in names})
        return writable if patch_op.patch(writable) else None

    def patch_response(self, base_url: str, resource: Any, response_parameters: Any) -> Any:
        """The user, which Okta reads."""
        return self.replacement_response(base_url, resource, response_parameters)


def quoted_filter(value: Any) -> Any:
    """Return a filter that is one comparison with an unquoted text with quotation marks: authentik
    sends `userName eq ada@example.com`. Any other filter stays as it is."""
    if not (isinstance(value, str) and (match := COMPARISON.fullmatch(value))):
        return value
    try:
        json.loads(match[2])
    except ValueError:
        return f'{match[1]} "{match[2]}"'
    return value  # a number, true, false or null


def members_named(value: object, name: str) -> list[Any]:
    """The values of a JSON object's members with this name in lower case: names are compared
    regardless of case (RFC 7643 §2.1), so that there may be several. [] for another JSON value."""
    members = value if isinstance(value, dict) else {}
    return [member for key, member in members.items() if key.lower() == name]


class UserStorage(ScimStorage):
    """The users whom the key sees. One storage serves one request."""

    def __init__(self, key: ApiKey, *, is_writing: bool) -> None:
        self.key, self.is_writing = key, is_writing
        self.user: accounts.User | None = None  # whom the path names

    @contextmanager
    def operation(self) -> Iterator[None]:
        """Run a writing request in a transaction, which first locks the company, and then checks
        that the key still works: deleting the company ends its keys under that lock. A reading
        request gets no transaction. Raises NotFound if the company was deleted, or
        AuthenticationFailed if the key has ended."""
        if not self.is_writing:
            yield
            return
        with transaction.atomic():
            accounts.Account.objects.lock(cast(UUID, self.key.account_id))
            self.key.require_live()
            yield

    def find(self, user_id: str) -> accounts.User:
        """Return the user with this id, the one in the request's path. The first call loads the
        user, whom later ones return whatever the id. Raises NotFoundException for an unknown id and
        a user whom the key doesn't see."""
        if self.user is None and is_id(user_id):
            self.user = ScimUser.objects.seen_by(self.key).filter(pk=user_id).first()
        if self.user is None:
            raise scim2.NotFoundException(detail="no user has this id")
        return self.user

    def get(self, resource_type: Any, resource_id: str, **options: Any) -> User:
        return resource_of(self.find(resource_id))

    def search(self, resource_types: Any, search_request: Any, **options: Any) -> SearchPage:
        """Return a page of the users whom the key sees, by id, with the number of all who match.
        The library has bounded `count`, and `start_index` is 1 or more. Raises
        InvalidFilterException for a filter that can't be translated. A page past the end takes no
        query for users: PostgreSQL refuses a large offset."""
        users = ScimUser.objects.seen_by(self.key).order_by("pk")
        if search_request.filter is not None:
            users = Conditions(search_request.filter).select(users)
        start, count = search_request.start_index - 1, search_request.count
        total = users.count() if start or not count else None
        has_page = count and (total is None or start < total)
        page = list(users[start : start + count]) if has_page else []
        if total is None:
            total = len(page) if len(page) < count else users.count()
        return SearchPage(total, [resource_of(user) for user in page])

    def create(self, resource_type: Any, resource: Any) -> User:
        return resource_of(ScimUser.objects.provision(self.key, entry_of(resource)))

    def update(self, resource_type: Any, resource: Any, **options: Any) -> User:
        user = self.find(resource.id)
        ScimUser.objects.change(self.key, user, entry_of(resource, user))
        return resource_of(user)

    def delete(self, resource_type: Any, resource_id: str, **options: Any) -> None:
        ScimUser.objects.remove(self.key, self.find(resource_id))


def resource_of(user: accounts.User) -> User:
    """Return the user as a resource of SCIM, without its location."""
    row, full_name = row_of(user), user.get_full_name() or None
    times: Any = {"created": user.created_at, "last_modified": row.changed_at}
    return User(
        id=str(user.pk),
        external_id=row.external_id or None,
        user_name=str(user.email),
        name=Name(
            formatted=full_name,
            family_name=user.last_name or None,
            given_name=user.first_name or None,
        ),
        display_name=full_name,
        active=user.is_active,
        emails=[Email(value=str(user.email), type="work", primary=True)],
        meta=scim2.Meta(resource_type="User", **times),
    )


def entry_of(resource: Any, user: accounts.User | None = None) -> Entry:
    """Return what the resource says about the user; without a `user`, it describes a new one. If
    the resource leaves given and family name unchanged, another full name (`displayName`, or else
    `name.formatted`) is split into both, unless it only writes the present ones differently."""
    name = resource.name or Name()
    names = name.given_name or "", name.family_name or ""
    if names == ((user.first_name, user.last_name) if user else ("", "")):
        for text in (resource.display_name, name.formatted):
            if text and WORD.search(text) and not (user and is_full_name_of(user, text)):
                names = split_full_name(text)
                break
    return Entry(resource.user_name, *names, resource.external_id or "", resource.active)


def is_full_name_of(user: accounts.User, text: str) -> bool:
    """Whether the text, also without its remarks, has the words of the user's names alone, in any
    order, such as "Bee, Ann (IT)" of Ann Bee, or the names without a space, such as "山田太郎"."""
    first, last = user.first_name, user.last_name
    full_names = text, without_remarks(text)
    orders = ["".join(name.split()) for name in (first + last, last + first)]
    word_sets = [{*WORD.findall(name.lower())} for name in (*full_names, f"{first} {last}")]
    has_letters = any("".join(full_name.split()) in orders for full_name in full_names)
    return has_letters or word_sets[2] in word_sets[:2]


def without_remarks(full_name: str) -> str:
    """Return a full name without what directories add in brackets or after a dash; unchanged if
    nothing else is in it."""
    return " ".join(REMARK.sub(" ", full_name).split()) or full_name


def split_full_name(full_name: str) -> tuple[str, str]:
    """Return the given and the family name of "Ann Bee" or "Bee, Ann", without remarks: the last
    word, or what is before a comma, is the family name. It keeps a suffix, such as ", Jr.", that
    follows two words or more: alone, "Md" is a given name."""
    text = without_remarks(full_name)
    suffix = SUFFIX.search(text)
    end = suffix.start() if suffix and " " in text[: suffix.start()].strip() else len(text)
    family_name, comma, given_name = text[:end].partition(",")
    if not comma:
        given_name, _, family_name = text[:end].strip().rpartition(" ")
    return given_name.strip(), family_name.strip() + text[end:].rstrip()


SERVICE = Service(scim2.ScimProvider([User], config=CONFIG, policy=POLICY))


def answer_request(key: ApiKey, request: Request, path: str) -> ScimResponse:
    """Answer a request of this API key, a writing one in a transaction of its own; `path` is the
    part of its path below BASE_URL. Raises ScimError for what the library and this app refuse,
    AuthenticationFailed if the key has ended meanwhile, NotFound if its company was deleted,
    Django's PermissionDenied if the user has become protected meanwhile, or an APIException for a
    change that is not allowed: InvalidValue, AdminKeepsAddress, AdminKeepsPassword, EmailTaken,
    LastAdmin or LastBreakGlassAdmin."""
    method = "GET" if request.method == "HEAD" else str(request.method)
    is_writing = method != "GET" and not path.rstrip("/").endswith(".search")
    storage = UserStorage(key, is_writing=is_writing)
    headers = {"Content-Type": request.META.get("CONTENT_TYPE", "")}
    query = request.query_params.dict()
    scim_request = ScimRequest(method, BASE_URL, path, query, headers, request.body)
    try:
        return ScimHandler(SERVICE, storage).handle(scim_request)
    except scim2.SCIMException as error:
        allowed = getattr(error, "allowed", [])
        raise ScimError(error.status, str(error), error.scim_type, allowed) from None
