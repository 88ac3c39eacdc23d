"""Erasing users and companies. The mail worker does what takes time (`privacy.models`)."""

from typing import cast

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext

from accounts.errors import LastAdmin
from accounts.models import Account, Consultant, User, next_token_version
from audit import trail
from audit.models import Kind
from mail.notices import PREFIX
from mail.outbox import OutgoingMail
from privacy.models import Erasure, delete_invitations

NAMING = {"by", "name", "emails"}  # what notices name others by


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
        user.notify_admins(user.revoke_sent(actor), actor)
        rename_in_waiting_mails(user)
        Consultant.objects.filter(user=user).update(name="")
        (erasure,) = Erasure.objects.erase_users([user])
        trail.record(
            Kind.ERASED,
            actor=actor,
            subject=trail.Subject(erasure.alias, erasure.pseudonym),
            account_id=user.account_id,
        )
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
            raise PermissionDenied("The operators' company stays.")
        if actor is not None:
            actor.require_can_manage(account)
        company, is_new = Erasure.objects.begin_company(account)
        if is_new:
            account.users.update(is_active=False, token_version=next_token_version())
            delete_invitations(account.pk)
            trail.record(
                Kind.COMPANY_DELETED, actor=actor, account_id=account.pk, subject=company.pseudonym
            )
    return company


def rename_in_waiting_mails(user: User) -> None:
    """Mails to colleagues that were not sent yet, or could not be, name the user no longer."""
    colleagues = User.objects.filter(account=user.account_id).values("email")
    mails = OutgoingMail.objects.filter(email__in=colleagues, kind__startswith=PREFIX)
    mails = mails.filter(context__isnull=False)  # those that were sent have none
    names = {user.get_full_name(), user.first_name, user.last_name, user.email} - {""}
    for mail in mails.select_for_update(skip_locked=True):  # not what is just being sent
        context = cast(dict[str, object], mail.context)
        with translation.override(mail.language):
            left = gettext("a former user")
        news = {
            name: renamed(value, names, left) for name, value in context.items() if name in NAMING
        }
        if news | context != context | news:
            OutgoingMail.objects.filter(pk=mail.pk).update(context=context | news)


def renamed(value: object, names: set[str], by: str) -> object:
    if isinstance(value, list):
        return [by if one in names else one for one in value]
    return by if value in names else value
