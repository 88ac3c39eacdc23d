"""Why a user cannot sign in, or how an invitation stands: a sentence, and the action that helps.

Each check returns None if it has nothing to say.
"""

from typing import Any, NamedTuple

from django.utils import timezone

from accounts.models import User
from backoffice.panels import format_minute
from invitations.models import Invitation, Status
from mail.budget import HOUR, Budget, MailBudget
from mail.links import EmailedLink
from mail.outbox import MailState, OutgoingMail
from signin.factors.models import MAX_WRONG_CODES
from sso.models import IdentityProvider

Panel = dict[str, Any]  # of panels.read_user_panel, with the parts that the viewer may see


class Diagnosis(NamedTuple):
    state: str  # "bad", "wait" or "good"
    sentence: str
    action: str = ""  # name of the admin action that helps, if any


def diagnose_user(user: User, panel: Panel) -> Diagnosis:
    """The diagnosis at the top of a user's page, by the first check that returns one. Checks of
    what the panel leaves out for its viewer find nothing."""
    for check in (*SIGN_IN_CHECKS, *MAIL_CHECKS):
        if diagnosis := check(user, panel):
            return diagnosis
    at = user.last_sign_in_at
    last_sign_in = f"last signed in on {format_minute(at)}" if at else "has not signed in yet"
    state = "active, not locked" if "lockout" in panel else "active"
    return Diagnosis("good", f"No problems found: {state}, {last_sign_in}.")


def check_active(user: User, panel: Panel) -> Diagnosis | None:
    if user.is_active:
        return None
    sentence = "Deactivated: can't sign in until you activate the account."
    if panel["provisioning"]:
        sentence += " The company's directory provisions it: ask an admin there first."
    return Diagnosis("bad", sentence, "activate")


def check_provider(user: User, panel: Panel) -> Diagnosis | None:
    """The company's provider: "bad" during an outage, for users who are linked to it or must use
    it. Users who must use it have no other way in: "bad" after a problem in the last hour, else
    "good"."""
    is_linked = user.identities.filter(provider__active=True).exists()
    if not (is_linked or user.must_use_provider):
        return None
    provider = IdentityProvider.objects.select_related("account").get(account=user.account_id)
    sentence = f"Signs in at {provider.account}'s provider"
    failed_at = provider.last_problem_at
    is_recent = failed_at is not None and failed_at > timezone.now() - HOUR
    if provider.failing_since or (is_recent and user.must_use_provider):
        reason = f"{provider.last_problem} ({format_minute(failed_at)})"
        return Diagnosis("bad", f"{sentence}; last problem: {reason}.")
    if not user.must_use_provider:
        return None
    return Diagnosis("good", f"{sentence} only; no problem there lately.")


def check_lockout(user: User, panel: Panel) -> Diagnosis | None:
    """The longest lock of the user's address, if it is locked for unknown or known devices."""
    lockout = panel.get("lockout")
    if not lockout or not lockout.is_locked():
        return None
    until = format_minute(lockout.locked_until) + (" on a known device" if lockout.device else "")
    sentence = f"Locked until {until}, after {lockout.failures} failed attempts. "
    sentence += "Unlock the address, or wait."
    return Diagnosis("bad", sentence, "unlock")


def check_password(user: User, panel: Panel) -> Diagnosis | None:
    """A user without a password or passkey in a company without an active provider. Most were
    created by a provider that was switched off since, or by provisioning."""
    providers = IdentityProvider.objects.filter(account=user.account_id, active=True)
    factors = panel["factors"]
    has_passkey = factors is not None and factors.passkeys.exists()
    if user.has_usable_password() or has_passkey or providers.exists():
        return None
    return Diagnosis("bad", "Has no password. Send a link to set one.", "send_password_link")


def check_wrong_codes(user: User, panel: Panel) -> Diagnosis | None:
    """The user's authenticator app, if MAX_WRONG_CODES wrong codes have blocked it."""
    factors = panel["factors"]
    if not factors or not factors.totp_id or factors.wrong_codes < MAX_WRONG_CODES:
        return None
    sentence = f"Authenticator app blocked after {MAX_WRONG_CODES} wrong codes. "
    sentence += "Signing in with a passkey or a recovery code unblocks it."
    return Diagnosis("bad", sentence, "reset_factors")


def check_mail_limit(user: User, panel: Panel) -> Diagnosis | None:
    """A kind of link of which strangers requested more than its hourly limit for the address: the
    rest were dropped silently."""
    if "mails" not in panel:
        return None
    models = EmailedLink.models_by_label().values()
    budgets = [(model, Budget.requests(model, user.email)) for model in models]
    by_key = {budget.key: (model, budget) for model, budget in budgets}
    since = timezone.now() - HOUR
    for row in MailBudget.objects.filter(name__in=by_key, begun_at__gt=since).order_by("-used"):
        model, budget = by_key[row.name]
        if row.used > budget.limit:
            mails = f"{row.used} {model._meta.verbose_name} mails requested"
            window_end = format_minute(row.begun_at + budget.window)
            sentence = f"Mail limit reached: {mails}, {budget.limit} an hour allowed. "
            sentence += f"Try again after {window_end}."
            return Diagnosis("wait", sentence)
    return None


def check_last_mail(user: User, panel: Panel) -> Diagnosis | None:
    """The newest of the panel's mails that was not dropped, if it was refused or given up, or is
    put off."""
    mails = (mail for mail in panel.get("mails", []) if mail.state != MailState.DROPPED)
    mail = next(mails, None)
    if mail is None:
        return None
    if mail.is_put_off:
        sentence = f"The last mail ({format_minute(mail.created_at)}) has not been delivered yet"
        return Diagnosis("wait", f"{sentence}: {put_off_reason(mail)}.")
    if mail.state not in {MailState.REFUSED, MailState.FAILED}:
        return None
    outcome = mail.get_state_display() + (f" ({mail.problem})" if mail.problem else "")
    sentence = f"The last mail ({format_minute(mail.created_at)}) was {outcome}. Check the address."
    return Diagnosis("bad", sentence)


def put_off_reason(mail: OutgoingMail) -> str:
    return f"{mail.problem}, next attempt {format_minute(mail.due_at)}"


def check_last_link(user: User, panel: Panel) -> Diagnosis | None:
    """The newest password link, if it expired unused and the user hasn't signed in since it was
    requested."""
    link = panel.get("last_link")
    if link is None or link.used_at or link.is_live():
        return None
    if user.last_sign_in_at and user.last_sign_in_at > link.created_at:
        return None
    end = format_minute(link.expires_at)
    sentence = f"The last password link expired unused on {end}. Send another."
    return Diagnosis("wait", sentence, "send_password_link")


def check_invitations(user: User, panel: Panel) -> Diagnosis | None:
    """An unanswered invitation from another company, which the user can't accept."""
    for invitation in panel.get("invitations", []):
        if invitation.account_id != user.account_id:
            sentence = f"Can't accept the invitation from {invitation.account}: "
            return Diagnosis("wait", f"{sentence}the address already belongs to {user.account}.")
    return None


SIGN_IN_CHECKS = (check_active, check_provider, check_lockout, check_password, check_wrong_codes)
MAIL_CHECKS = (check_mail_limit, check_last_mail, check_last_link, check_invitations)


def diagnose_invitation(invitation: Invitation, mail: OutgoingMail | None) -> Diagnosis:
    """The diagnosis at the top of an invitation's page. `mail` is its newest mail, None without one
    or if the viewer may not view mails."""
    status = invitation.status
    if status == Status.ACCEPTED:
        return Diagnosis("good", f"Accepted on {format_minute(invitation.used_at)}.")
    if status == Status.REVOKED:
        return Diagnosis("wait", f"Revoked on {format_minute(invitation.revoked_at)}.")
    if User.objects.filter(email=invitation.email).exists():
        return Diagnosis("wait", "Can't be accepted: the address already belongs to a user.")
    end = format_minute(invitation.expires_at)
    if status == Status.EXPIRED:
        return Diagnosis("wait", f"Expired unused on {end}. Send it again.", "resend")
    if invitation.mail_state == "refused":
        sentence = "The mail could not be delivered. Check the address, and send it again."
        return Diagnosis("bad", sentence, "resend")
    is_waiting = invitation.mail_state == "waiting"
    sentence = "The mail has not been sent yet" if is_waiting else "Sent, but not accepted yet"
    if mail and mail.is_put_off:
        sentence = f"The mail has not been delivered yet: {put_off_reason(mail)}"
    return Diagnosis("wait" if is_waiting else "good", f"{sentence}. The link works until {end}.")
