"""What provisioning shows of users, and how it describes itself (RFC 7643 §3 to §7)."""

from typing import Annotated, Any

from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Filter,
    Mutability,
    Pagination,
    Patch,
    Required,
    Resource,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)
from scim2_models.urn import URN

DEFAULT_PAGE, MAX_PAGE = 100, 200  # users in an answer


class Name(ComplexAttribute):
    formatted: str | None = None
    family_name: str | None = None
    given_name: str | None = None


class Email(ComplexAttribute):
    value: str | None = None
    type: str | None = None
    primary: bool | None = None


class WritableUser(Resource[Any]):
    """What PATCH can change. An operation on anything else, such as `emails`, changes nothing."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    name: Name | None = None
    display_name: str | None = None
    active: bool | None = None


class User(WritableUser):
    """A user of the company. `emails` has the `userName`."""

    emails: Annotated[list[Email] | None, Mutability.read_only] = None


PROVIDER = ScimProvider(
    models=[User],
    config=ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=MAX_PAGE),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=False),
        pagination=Pagination(
            cursor=False, index=True, default_page_size=DEFAULT_PAGE, max_page_size=MAX_PAGE
        ),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="API key",
                description="An API key with the scope scim, as a bearer token.",
                primary=True,
            )
        ],
    ),
    # What Entra ID and Okta send: attributes that are not in the schema, a `value` with `remove`,
    # and paths such as `emails[type eq "work"].value` of a user without one.
    policy=ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    ),
)
