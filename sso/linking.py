"""Which user a person at a company's provider is: a linked one, one with the same address, an
invited or a new one."""

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

ENTRA = (  # its issuers in all clouds
    "https://login.microsoftonline.com/",
    "https://login.microsoftonline.us/",
    "https://login.partner.microsoftonline.cn/",
    "https://sts.windows.net/",
)


def find_or_create_user(provider: IdentityProvider, person: Person, language: str) -> User:
    """The person's user, who may sign in. Raises Refusal, also if the provider was switched off
    or replaced while it was asked: a `sub` of the provider before is someone else's here.
    """
    require_domain(provider, person)
    unchanged = unchanged_providers(provider)
    user = find_linked(unchanged, person)
    if user is None:
        with transaction.atomic():
            Account.objects.lock(provider.account_id)  # of first sign-ins one at a time links
            if not unchanged.exists():
                raise Refusal(Reason.SWITCHED_OFF)
            user = find_linked(unchanged, person) or link_user(provider, person, language)
    require_admitted_user(provider, user)
    return user


def require_verified(provider: IdentityProvider, person: Person) -> None:
    """Raise Refusal unless the address is verified: as the provider says or, where it doesn't, as
    the company's admin does. Entra never says so, but a tenant's addresses are its admins'."""
    is_trusted = provider.trusts_emails or provider.issuer.startswith(ENTRA)
    if not (is_trusted if person.is_verified is None else person.is_verified):
        raise Refusal(Reason.UNVERIFIED)


def find_caller(provider: IdentityProvider, person: Person, caller: str) -> User:
    """The person's user, who must be the one with the id `caller`. Raises Refusal."""
    require_domain(provider, person)
    user = find_linked(unchanged_providers(provider), person)
    if user is None or str(user.pk) != caller:
        raise Refusal(Reason.OTHER_USER)
    require_admitted_user(provider, user)
    return user


def unchanged_providers(provider: IdentityProvider) -> QuerySet[IdentityProvider]:
    """The provider, unless it was switched off or replaced since it was loaded."""
    active = IdentityProvider.objects.filter(pk=provider.pk, active=True)
    return active.filter(configured_at=provider.configured_at)


def require_domain(provider: IdentityProvider, person: Person) -> None:
    """Raise Refusal unless the company has proved the address's domain, and that of the
    Google Workspace."""
    names = proved_domains(provider)
    if person.email.rpartition("@")[2] not in names:
        raise Refusal(Reason.DOMAIN)
    if person.workspace is not None and person.workspace not in names:
        raise Refusal(Reason.DOMAIN, "hd")


def proved_domains(provider: IdentityProvider) -> list[str]:
    domains = Domain.objects.proved().filter(account=provider.account_id)
    return [*domains.values_list("name", flat=True)]


def subject_of(provider: IdentityProvider, person: Person) -> User | str:
    """Whom an event about the person names: the linked user, else the user with the address, else
    the address if it is of a proved domain. Users and addresses of others are never named, but the
    issuer: an admin could have any provider say anything about them."""
    linked = find_linked(IdentityProvider.objects.filter(pk=provider.pk), person)
    user = linked or User.objects.filter(email=person.email).first()
    if user is not None:
        return user if user.account_id == provider.account_id else provider.issuer
    is_own = person.email.rpartition("@")[2] in proved_domains(provider)
    return person.email if is_own else provider.issuer


def require_admitted_user(provider: IdentityProvider, user: User) -> None:
    """Raise Refusal for users of other companies, deactivated ones and staff."""
    is_here = user.account_id == provider.account_id
    if not (is_here and user.is_active) or user.is_protected:
        raise Refusal(Reason.ACCOUNT)


def find_linked(providers: QuerySet[IdentityProvider], person: Person) -> User | None:
    linked = {"identities__provider__in": providers, "identities__sub": person.sub}
    return User.objects.filter(**linked).select_related("account").first()


def link_user(provider: IdentityProvider, person: Person, language: str) -> User:
    """Link the user with the person's address, who may be new, in the caller's transaction."""
    user = User.objects.filter(email=person.email).select_related("account").first()
    if user is None:
        user = add_user(provider, person, language)
    require_admitted_user(provider, user)
    if Identity.objects.filter(provider=provider, user=user).exists():
        raise Refusal(Reason.ACCOUNT, "reassigned")  # the provider gave the address to someone else
    Identity.objects.create(provider=provider, user=user, sub=person.sub)
    audit.record(Kind.IDENTITY_LINKED, actor=user)
    return user


def add_user(provider: IdentityProvider, person: Person, language: str) -> User:
    """A user without a password: by an open invitation in its role, or else a member. Raises
    Refusal, or ProviderFailed for an address that can't be mailed."""
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
    of_company = Invitation.objects.live().filter(account=provider.account_id)
    invitation = of_company.filter(email=person.email).first()
    try:
        if invitation:
            invitation.redeem(user)
        elif provider.creates_users:
            user.register()
        else:
            raise Refusal(Reason.NOT_INVITED)
    except InvalidLink:  # it was revoked meanwhile
        raise Refusal(Reason.NOT_INVITED) from None
    except EmailTaken:
        raise Refusal(Reason.ACCOUNT) from None
    Invitation.objects.close_for(user.account, person.email, user)
    return user
