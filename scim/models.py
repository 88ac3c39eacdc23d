"""Users whom a company's directory provisions, and the rules about what it may do to them.

The caller's transaction has locked the company, has checked that the API key still works, and is
rolled back after an error.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, cast
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone
from rest_framework import serializers

import audit
from accounts.errors import EmailTaken
from accounts.fields import NameField
from accounts.models import Account, Role, User, UserQuerySet
from accounts.validators import MAX_NAME_LENGTH
from api.fields import REFUSED_CHARACTERS, TextField
from apikeys.models import ApiKey
from audit.models import Kind
from base.emails import canonical_or_lower, new_email
from base.text import DIRECTION_CHARACTERS, letters_and_digits
from invitations.models import Invitation
from scim.errors import AddressNotAllowed, AdminKeepsAddress, AdminKeepsPassword, InvalidValue
from sso.models import Domain

MAX_EXTERNAL_ID = 255  # characters
FORMER_ADDRESS_NOT_ALLOWED = (
    "the user's present address can't be mailed or is in no domain that your company has proved"
)
OBJECT_ID = "[0-9a-f]{32}"  # of a user of Entra ID, as a pattern
NAME = NameField(max_length=150, allow_blank=True)
RULES = {  # of the attributes that `validate_attribute` checks
    "givenName": NAME,
    "familyName": NAME,
    "externalId": TextField(max_length=MAX_EXTERNAL_ID, allow_blank=True, trim_whitespace=False),
}


@dataclass
class Entry:
    """What a directory says about a user. `is_active` is None where it says nothing of it."""

    email: str
    first_name: str
    last_name: str
    external_id: str
    is_active: bool | None


def validate_attribute(attribute: str, text: str) -> str:
    """Return the text of `givenName`, `familyName` or `externalId` as it is stored: names as
    `cleaned_name`. Raises InvalidValue if a rule of the attribute refuses it."""
    rule = RULES[attribute]
    try:
        return str(rule.run_validation(cleaned_name(text) if rule is NAME else text))
    except serializers.ValidationError as error:
        message = cast(list[str], error.detail)[0]
        raise InvalidValue(f"{attribute}: {message}") from None


def cleaned_name(text: str) -> str:
    """Return a name of a directory without characters that change the direction of text, and with
    spaces for control characters; "" for one without a letter or digit, such as the "-" that stands
    for a missing family name."""
    name = DIRECTION_CHARACTERS.sub("", REFUSED_CHARACTERS.sub(" ", text))
    return name if letters_and_digits(name[:MAX_NAME_LENGTH]) else ""


def allowed_email(key: ApiKey, text: str) -> str:
    """Return the canonical form of an address. Raises AddressNotAllowed, without looking for the
    address's user, unless the address can be mailed and the key's company has proved its domain."""
    try:
        email = new_email(text)
    except ValidationError:
        raise AddressNotAllowed from None
    if not Domain.objects.proved_for(email).filter(account=key.account_id).exists():
        raise AddressNotAllowed
    return email


def require_deactivatable(user: User) -> None:
    if user.role == Role.ADMIN and user.keeps_password:
        raise AdminKeepsPassword


class ScimUserManager(models.Manager["ScimUser"]):
    def seen_by(self, key: ApiKey) -> UserQuerySet:
        """The users whom the key may act on, with `scim`: those of its company who are not
        protected, except inactive users whom provisioning has removed."""
        users = User.objects.filter(account=key.account_id).manageable_by(key)
        return users.filter(Q(is_active=True) | Q(scim__removed_at=None)).select_related("scim")

    def provision(self, key: ApiKey, entry: Entry) -> User:
        """Create a member of the key's company without a password, or bring back its inactive user
        with this address as a member; return the user, who is active unless the entry says
        otherwise. Raises AddressNotAllowed, InvalidValue for a name or external id, or EmailTaken
        if another user has the address."""
        email = allowed_email(key, entry.email)
        user = User.objects.filter(email=email).select_related("account", "scim").first()
        row = ScimUser(external_id=validate_attribute("externalId", entry.external_id))
        if user is None:
            user = register_member(key, email, entry)
            row.changed_at = user.created_at
        else:
            bring_back(key, user, entry)
        audit.record(Kind.PROVISIONED, actor=key, subject=user)
        self.store(user, row)
        return user

    def change(self, key: ApiKey, user: User, entry: Entry) -> None:
        """Change what differs from the entry. Raises AddressNotAllowed, AdminKeepsAddress or
        EmailTaken for another address, InvalidValue for a name or external id, and
        AdminKeepsPassword, LastAdmin or LastBreakGlassAdmin for an admin who must stay active."""
        row, active = row_of(user), entry.is_active
        is_changed = change_address(key, user, entry) | change_names(key, user, entry)
        if active is not None and active != user.is_active:
            if not active:
                require_deactivatable(user)
            user.update_role_or_active(key, is_active=active)
            is_changed = True
        if entry.external_id != row.external_id:
            row.external_id, is_changed = validate_attribute("externalId", entry.external_id), True
        if is_changed:
            row.changed_at, row.removed_at = timezone.now(), None
            self.store(user, row)

    def remove(self, key: ApiKey, user: User) -> None:
        """Deactivate a user, which ends all sessions. The key then no longer sees the user. Raises
        AdminKeepsPassword, LastAdmin or LastBreakGlassAdmin for an admin who must stay."""
        require_deactivatable(user)
        row = row_of(user)
        user.update_role_or_active(key, is_active=False)
        audit.record(Kind.DEPROVISIONED, actor=key, subject=user)
        row.changed_at = row.removed_at = timezone.now()
        self.store(user, row)

    def store(self, user: User, row: "ScimUser") -> None:
        """Insert the user's row, or replace it."""
        row.user, row.account_id = user, user.account_id
        fields = ["account", "external_id", "changed_at", "removed_at"]
        self.bulk_create([row], update_conflicts=True, unique_fields=["user"], update_fields=fields)


class ScimUser(models.Model):
    """What a directory has said about a user. Users whom none has ever written have no row."""

    # The database itself cascades (migration 0001): hosts of 3.0 delete companies and users, too.
    user = models.OneToOneField(
        User, models.CASCADE, primary_key=True, related_name="scim", db_constraint=False
    )
    account = models.ForeignKey(
        Account,
        models.CASCADE,
        related_name="+",
        verbose_name="company",
        db_constraint=False,
        db_index=False,  # an index below begins with this column
    )
    external_id = models.CharField(max_length=MAX_EXTERNAL_ID, blank=True, default="")
    changed_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)

    objects: ClassVar = ScimUserManager()

    class Meta:
        indexes = [models.Index(fields=["account", "external_id"], name="scim_external_id")]

    def __str__(self) -> str:
        return self.external_id or str(self.pk)


def row_of(user: User) -> ScimUser:
    """The user's row, or an unsaved one of a user who was never provisioned."""
    row: ScimUser = getattr(user, "scim", None) or ScimUser(changed_at=user.created_at)
    return row


def register_member(key: ApiKey, email: str, entry: Entry) -> User:
    """Create and return a member of the key's company, without a password and with the entry's
    names. Revoke the company's open invitations to the address. Raises InvalidValue for a name, or
    EmailTaken if another user gets the address meanwhile."""
    user = User(
        account_id=cast(UUID, key.account_id),
        email=email,
        first_name=validate_attribute("givenName", entry.first_name),
        last_name=validate_attribute("familyName", entry.last_name),
        language=key.language,
        is_active=entry.is_active is not False,
        password=make_password(None),
    )
    user.register()
    Invitation.objects.close_for(user, key)
    return user


def bring_back(key: ApiKey, user: User, entry: Entry) -> None:
    """Make an inactive user of the key's company a member, with the entry's names if it has any:
    directories may create a user again whom they have deleted, or disabled under the same external
    id. Raises EmailTaken for any other user, such as one whom an admin has deactivated, and for a
    disabled admin who keeps a password. Raises InvalidValue for a name."""
    row = row_of(user)
    is_same_person = bool(row.external_id) and row.external_id == entry.external_id
    is_break_glass = user.role == Role.ADMIN and user.keeps_password
    may_return = row.removed_at or (is_same_person and not is_break_glass)
    is_elsewhere = user.account_id != key.account_id
    if is_elsewhere or user.is_protected or user.is_active or not may_return:
        raise EmailTaken
    user.update_role_or_active(key, role=Role.MEMBER, is_active=entry.is_active is not False)
    if cleaned_name(entry.first_name) or cleaned_name(entry.last_name):
        change_names(key, user, entry)


def is_address_of(user: User, text: str) -> bool:
    """Whether the text is the user's address, also as Entra ID writes it once the user is deleted
    there: with the object id before it."""
    pattern = f"({OBJECT_ID})?{re.escape(str(user.email))}"
    return re.fullmatch(pattern, canonical_or_lower(text)) is not None


def change_address(key: ApiKey, user: User, entry: Entry) -> bool:
    """Give the user the entry's address; returns whether it is another one. Then the user's
    sessions end, both addresses get a mail, and the company's open invitations to the new one are
    revoked. Raises AddressNotAllowed unless the company has proved the domains of both addresses,
    AdminKeepsAddress for an admin or a user who keeps a password, or EmailTaken."""
    if is_address_of(user, entry.email):
        return False
    email = allowed_email(key, entry.email)
    try:
        allowed_email(key, str(user.email))
    except AddressNotAllowed:
        raise AddressNotAllowed(FORMER_ADDRESS_NOT_ALLOWED) from None
    if user.role == Role.ADMIN or user.keeps_password:
        raise AdminKeepsAddress
    user.change_address(key, email)
    Invitation.objects.close_for(user, key)
    return True


def change_names(key: ApiKey, user: User, entry: Entry) -> bool:
    """Give the user the entry's names, of which "" empties the stored one, and record a change;
    returns whether there was one. Raises InvalidValue for a new name that a rule refuses. A stored
    name may break a rule."""
    attributes = {"first_name": "givenName", "last_name": "familyName"}
    changes = user.changed_values(
        {
            field: validate_attribute(attribute, getattr(entry, field))
            for field, attribute in attributes.items()
            if getattr(entry, field) != getattr(user, field)
        }
    )
    if changes:
        user.change_profile(key, **changes)
    return bool(changes)
