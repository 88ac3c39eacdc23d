"""Erasing users and companies: their rows go at once, and the log forgets them soon after."""

from collections.abc import Collection
from typing import cast

from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q
from django.utils import translation
from django.utils.translation import gettext

from accounts.errors import LastAdmin
from accounts.models import Account, Consultant, User
from audit import trail
from audit.models import Kind
from emailchanges.models import EmailChange, UndoEmailChange
from mail.links import EmailedLink
from mail.notices import PREFIX, Notice
from mail.outbox import WAITING, OutgoingMail
from privacy.models import Erasure, forget_emails, without_users

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
            actor.check_reach(user)
        if user.is_only_admin:
            raise LastAdmin
        user.tell_admins(user.revoke_sent(actor), actor)
        rename_in_waiting_mails(user)
        Consultant.objects.filter(user=user).update(name="")
        (erasure,) = delete_users([user])
        trail.record(
            Kind.ERASED,
            actor=actor,
            subject=trail.Subject(erasure.alias, erasure.pseudonym),
            account_id=user.account_id,
        )
    return erasure


def delete_company(account: Account, actor: User | None) -> list[Erasure]:
    """Delete a company, its consultants and its invitations, and erase its users.

    Raises PermissionDenied where the actor may not act on it, and for the operators' company: with
    it would go every user who can sign in to the back office.
    """
    with transaction.atomic():
        account = Account.objects.select_for_update().get(pk=account.pk)
        if account.is_operators:
            raise PermissionDenied("The operators' company stays.")
        if actor is not None:
            actor.check_reach(account)
        company = Erasure.objects.begin_company(account)
        profiles = [*account.consultants.values_list("pk", flat=True)]
        invitations = [*account.invitations.values_list("pk", flat=True)]
        OutgoingMail.objects.filter(link_id__in=invitations).delete()
        erasures = delete_users(list(account.users.select_for_update().order_by("pk")))
        account.consultants.all().delete()
        account.invitations.all().delete()
        gone = [str(pk) for pk in (account.pk, *profiles, *invitations)]
        forget_in_admin_log(dict.fromkeys(gone, company.pseudonym), [])
        trail.record(
            Kind.COMPANY_DELETED, actor=actor, account_id=account.pk, subject=company.pseudonym
        )
        account.delete()
    return [company, *erasures]


def delete_users(users: list[User]) -> list[Erasure]:
    """Delete the users with all that is theirs, in a transaction that holds them. They are told by
    a last mail, with which their addresses go."""
    erasures = Erasure.objects.begin(users)
    changes = EmailChange.objects.filter(user__in=users)
    OutgoingMail.objects.filter(link_id__in=changes.values("pk")).delete()
    asked_for = OutgoingMail.objects.filter(
        kind=EmailChange._meta.label_lower,
        state__in=WAITING,
        context__user__in=[str(user.pk) for user in users],
    )
    asked_for.delete()
    former = {
        *changes.filter(used_at__isnull=False).values_list("old_email", flat=True),
        *UndoEmailChange.objects.filter(user__in=users).values_list("email", flat=True),
    }
    end_sessions_in_the_back_office(users)
    names = {name: text for one in erasures for name, text in names_in_admin_log(one).items()}
    forget_in_admin_log(names, {str(user.pk) for user in users})
    User.objects.filter(pk__in=[user.pk for user in users]).delete()
    forget_emails(without_users(former | {user.email for user in users}))
    OutgoingMail.objects.tell_all(Notice("erased", one.email, one.language) for one in users)
    return erasures


def forget_in_admin_log(pseudonyms: dict[str, str], ids: Collection[str]) -> None:
    """Django's log of the back office repeats how a row was called. Put pseudonyms in the place of
    ids and of names, which are cut at 200 characters; the ids of users go, too."""
    named = {name[:200]: pseudonym for name, pseudonym in pseudonyms.items()}
    about = Q(object_id__in=list(pseudonyms)) | Q(object_repr__in=list(named))
    for entry in LogEntry.objects.filter(about):
        called = pseudonyms.get(entry.object_id or "") or named[entry.object_repr]
        entry.object_id = called if entry.object_id in ids else entry.object_id
        entry.object_repr = called
        entry.save(update_fields=["object_id", "object_repr"])


def names_in_admin_log(erasure: Erasure) -> dict[str, str]:
    """By what Django's log may know a user: as the row, or by what was mailed to them."""
    kinds = [kind._meta.verbose_name for kind in EmailedLink.kinds()]
    mailed = [f"{kind} for {email}" for kind in kinds for email in erasure.emails]
    return dict.fromkeys([*erasure.ids, *erasure.emails, *mailed], erasure.pseudonym)


def rename_in_waiting_mails(user: User) -> None:
    """Mails to colleagues that were not sent yet, or could not be, name the user no longer."""
    colleagues = User.objects.filter(account=user.account_id).values("email")
    mails = OutgoingMail.objects.filter(email__in=colleagues, kind__startswith=PREFIX)
    mails = mails.filter(context__isnull=False)  # those that were sent have none
    names = {user.get_full_name(), user.first_name, user.last_name, user.email} - {""}
    for mail in mails.select_for_update(skip_locked=True):  # not what is just being sent
        context = cast(dict[str, object], mail.context)
        with translation.override(mail.language):
            left = gettext("somebody who left")
        news = {
            name: renamed(value, names, left) for name, value in context.items() if name in NAMING
        }
        if news | context != context | news:
            OutgoingMail.objects.filter(pk=mail.pk).update(context=context | news)


def renamed(value: object, names: set[str], by: str) -> object:
    if isinstance(value, list):
        return [by if one in names else one for one in value]
    return by if value in names else value


def end_sessions_in_the_back_office(users: list[User]) -> None:
    """Delete the sessions of users who are or were staff: what they hold names the id."""
    ids = {str(user.pk) for user in users}
    for session in Session.objects.iterator():
        if session.get_decoded().get("_auth_user_id") in ids:
            session.delete()
