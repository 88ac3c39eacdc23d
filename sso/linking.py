"""Finds the user of a person whom a company's provider names: the linked user, else the user with
the person's address, else a new one, who may have been invited."""

from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

import audit
from accounts.errors import EmailTaken
from accounts.models import Account, User
from audit.models import Kind
from base.emails import new_email
from invitations.models import Invitation
from mail.errors import InvalidLink
from sso.errors import ProviderFailed, Reason, Refusal
from sso.models import Domain, Identity, IdentityProvider
from sso.openid import Person


def find_or_create_user(provider: IdentityProvider, person: Person, language: str) -> User:
    """Return the user of a person with a verified address who has just signed in at the provider:
    the linked user, else the user with the address, who is linked now, else a new one with this
    `language`. Call it outside a transaction. Raises Refusal: DOMAIN if the company has not proved
    the person's domains; SWITCHED_OFF if the provider was switched off, configured anew or removed
    since it was loaded; ACCOUNT for a user who is inactive, protected, of another company or linked
    to another `sub`; NOT_INVITED if no user may be created. Raises ProviderFailed for a new user's
    address that can't be mailed, or NotFound for a deleted company."""
    require_proved_domains(provider, person)
    providers = unchanged_providers(provider)
    user = find_linked_user(providers, person)
    if user is None:
        with transaction.atomic():
            Account.objects.lock(provider.account_id)  # first sign-ins link one after another
            if not providers.exists():
                raise Refusal(Reason.SWITCHED_OFF)
            user = find_linked_user(providers, person) or link_user(provider, person, language)
    require_admitted_user(provider, user)
    return user


def require_verified_email(provider: IdentityProvider, person: Person) -> None:
    """Raise Refusal (UNVERIFIED) unless the provider says that the person's address is verified or,
    if it says nothing, `trusts_unstated_emails`."""
    is_verified = person.is_verified
    if not (provider.trusts_unstated_emails if is_verified is None else is_verified):
        raise Refusal(Reason.UNVERIFIED)


def find_reauthenticated_user(provider: IdentityProvider, person: Person, caller: str) -> User:
    """Return the user with the id `caller`, who has signed in at the provider again as this person.
    Raises Refusal: DOMAIN if the company has not proved the person's domains; OTHER_USER unless the
    user is linked to the person's `sub` and the provider is active and was not configured anew
    since it was loaded; ACCOUNT if the user is inactive, protected or of another company."""
    require_proved_domains(provider, person)
    user = find_linked_user(unchanged_providers(provider), person)
    if user is None or str(user.pk) != caller:
        raise Refusal(Reason.OTHER_USER)
    require_admitted_user(provider, user)
    return user


def unchanged_providers(provider: IdentityProvider) -> QuerySet[IdentityProvider]:
    """Return a lazy queryset of the provider's row, empty once the provider was switched off,
    configured anew or removed since it was loaded."""
    active_providers = IdentityProvider.objects.filter(pk=provider.pk, active=True)
    return active_providers.filter(configured_at=provider.configured_at)


def require_proved_domains(provider: IdentityProvider, person: Person) -> None:
    """Raise Refusal (DOMAIN) unless the company has proved the domain of the person's address and,
    if the `workspace` isn't None, that of the person's Google Workspace. A private account at
    Google, whose `workspace` is "", is always refused."""
    domains = Domain.objects.filter(account=provider.account_id, proved_at__isnull=False)
    names = [*domains.values_list("name", flat=True)]
    if person.email.rpartition("@")[2] not in names:
        raise Refusal(Reason.DOMAIN)
    if person.workspace is not None and person.workspace not in names:
        raise Refusal(Reason.DOMAIN, "hd")


def subject_of_event(provider: IdentityProvider, person: Person) -> User | str:
    """Return the subject of an audit event about the person: the linked user, else the user with
    the address, else the address. It is the issuer instead for a user of another company, and for
    an address in a domain that the company has not proved: a provider can claim any address."""
    linked_user = find_linked_user(IdentityProvider.objects.filter(pk=provider.pk), person)
    user = linked_user or User.objects.filter(email=person.email).first()
    if user is not None:
        return user if user.account_id == provider.account_id else provider.issuer
    is_proved = Domain.objects.proved_for(person.email).filter(account=provider.account_id).exists()
    return person.email if is_proved else provider.issuer


def require_admitted_user(provider: IdentityProvider, user: User) -> None:
    """Raise Refusal (ACCOUNT) for a user of another company than the provider's, an inactive user,
    staff and operators."""
    is_member = user.account_id == provider.account_id
    if not (is_member and user.is_active) or user.is_protected:
        raise Refusal(Reason.ACCOUNT)


def find_linked_user(providers: QuerySet[IdentityProvider], person: Person) -> User | None:
    """Return the user, with `account`, who is linked to the person's `sub` at one of these
    providers, or None."""
    link_filters = {"identities__provider__in": providers, "identities__sub": person.sub}
    return User.objects.filter(**link_filters).select_related("account").first()


def link_user(provider: IdentityProvider, person: Person, language: str) -> User:
    """Link the user with the person's address, or else a new user, to the person's `sub`; record
    this, and return the user. The caller's transaction has locked the company, and is rolled back
    after an error. Raises Refusal: ACCOUNT for a user who is inactive, protected, of another
    company or linked to another `sub`, NOT_INVITED if no user may be created; or ProviderFailed for
    a new user's address that can't be mailed."""
    user = User.objects.filter(email=person.email).select_related("account").first()
    if user is None:
        user = create_user(provider, person, language)
    require_admitted_user(provider, user)
    if Identity.objects.filter(provider=provider, user=user).exists():
        raise Refusal(Reason.ACCOUNT, "reassigned")  # the provider gave the address to someone else
    Identity.objects.create(provider=provider, user=user, sub=person.sub)
    audit.record(Kind.IDENTITY_LINKED, actor=user)
    return user


def create_user(provider: IdentityProvider, person: Person, language: str) -> User:
    """Create and return a user without a password, in the caller's transaction. The user accepts
    the company's newest pending invitation to the address; without one, or if its inviter may no
    longer invite, the user becomes a member, if the provider creates users. The company's other
    open invitations to the address are revoked.

    Raises ProviderFailed for an address that can't be mailed, or Refusal: NOT_INVITED without an
    invitation that is still good if the provider creates no users, or if it ends meanwhile; ACCOUNT
    if another user gets the address meanwhile."""
    try:
        new_email(person.email)
    except ValidationError:
        raise ProviderFailed("e-mail address") from None
    user = User(
        account_id=provider.account_id,
        email=person.email,
        first_name=person.first_name,
        last_name=person.last_name,
        language=language,
        password=make_password(None),
    )
    invitations = Invitation.objects.live().filter(account=provider.account_id)
    invitation = invitations.filter(email=person.email).first()
    try:
        if invitation and invitation.inviter_may_invite(provider.account):
            invitation.redeem(user)
        elif provider.creates_users:
            user.register()
        else:
            raise Refusal(Reason.NOT_INVITED)
    except InvalidLink:  # the invitation ended meanwhile
        raise Refusal(Reason.NOT_INVITED) from None
    except EmailTaken:
        raise Refusal(Reason.ACCOUNT) from None
    Invitation.objects.close_for(user, user)
    return user
