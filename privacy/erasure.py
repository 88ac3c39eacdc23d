"""Erasing users and companies. The mail worker does what takes time (`privacy.models`)."""

from django.core.exceptions import PermissionDenied
from django.db import transaction

from accounts.errors import LastAdmin
from accounts.models import Account, Consultant, User, next_token_version
from audit import trail
from audit.models import Kind
from audit.pseudonyms import alias_of, pseudonym_of
from privacy.models import Erasure, delete_invitations


def erase(user: User, actor: User | None) -> Erasure:
    """Erase a user for good. The mail worker pseudonymises the log afterwards. `actor` is a
    superuser, None a command.

    Raises LastAdmin for the last active admin of a company, PermissionDenied where the actor may
    not act on the user, User.DoesNotExist where the user is gone.
    """
    with transaction.atomic():
        Account.objects.lock(user.account_id)
        user = User.objects.select_for_update().get(pk=user.pk)  # the role may be another by now
        if actor is not None:
            actor.require_can_manage(user)
        if user.is_only_admin:
            raise LastAdmin
        user.stop_inviting(actor)
        erasure = Erasure(pseudonym=pseudonym_of(user.pk), alias=alias_of(user.pk))
        Consultant.objects.filter(user=user).update(name="")
        erasure.erase([user])
        about = trail.Subject(erasure.alias, erasure.pseudonym)
        trail.record(Kind.ERASED, actor=actor, subject=about, account_id=user.account_id)
    return erasure


def delete_company(account: Account, actor: User | None) -> Erasure:
    """Delete a company and its invitations, and lock its users out for good. The mail worker then
    erases the users, the consultants and the company, and pseudonymises the log.

    Raises PermissionDenied where the actor may not act on it, and for the operators' company: with
    it would go every user who can sign in to the back office.
    """
    with transaction.atomic():
        account = Account.objects.select_for_update().get(pk=account.pk)
        if account.is_operators:
            raise PermissionDenied("The operators' company cannot be deleted.")
        if actor is not None:
            actor.require_can_manage(account)
        about = {"alias": alias_of(account.pk), "ids": [str(account.pk)], "account_id": account.pk}
        erasure, is_new = Erasure.objects.get_or_create(
            pseudonym=f"company {account.pk}", defaults=about
        )
        if is_new:
            account.users.update(is_active=False, token_version=next_token_version())
            delete_invitations(account.pk)
            trail.record(
                Kind.COMPANY_DELETED, actor=actor, account_id=account.pk, subject=erasure.pseudonym
            )
    return erasure
