"""Why a user cannot sign in, in one sentence, with the one action that helps."""

from typing import Any, NamedTuple

from django.utils import timezone

from accounts.models import User
from backoffice.panels import format_minute
from invitations.models import Invitation, Status
from mail.budget import HOUR, Budget, MailBudget
from mail.links import EmailedLink
from mail.outbox import MailState
from signin.factors.models import MAX_WRONG_CODES
from sso.models import IdentityProvider

Panel = dict[str, Any]  # panels.of_user: only the parts that the viewer may see


class Finding(NamedTuple):
    state: str  # "bad", "wait" or "good"
    words: str
    action: str = ""  # the name of the admin action that helps


def diagnose_user(user: User, panel: Panel) -> Finding:
    """The sentence at the top of a user's page: the first check that finds something.

    Reads at most four tables besides the panel.
    """
    account = (check_active, check_provider, check_lockout, check_password, check_wrong_codes)
    for check in (*account, check_mail_limit, check_last_mail, check_last_link, check_invitations):
        if found := check(user, panel):
            return found
    last = user.last_sign_in_at
    when = f"last signed in on {format_minute(last)}" if last else "has not signed in yet"
    return Finding("good", f"No problems found: active, not locked, {when}.")


def check_active(user: User, panel: Panel) -> Finding | None:
    if user.is_active:
        return None
    return Finding("bad", "Deactivated: can't sign in until you activate the account.", "activate")


def check_provider(user: User, panel: Panel) -> Finding | None:
    """For users who sign in at their company's provider, whatever happens to passwords."""
    linked = user.identities.filter(provider__active=True).exists()
    if not (linked or user.must_use_provider):
        return None
    provider = IdentityProvider.objects.select_related("account").get(account=user.account_id)
    words = f"Signs in at {provider.account}'s provider"
    problem_at = provider.last_problem_at
    is_recent = problem_at is not None and problem_at > timezone.now() - HOUR
    if provider.failing_since or (is_recent and user.must_use_provider):
        problem = f"{provider.last_problem} ({format_minute(problem_at)})"
        return Finding("bad", f"{words}; last problem: {problem}.")
    if not user.must_use_provider:
        return None  # a password may be the trouble
    return Finding("good", f"{words} only; no problem there lately.")


def check_lockout(user: User, panel: Panel) -> Finding | None:
    lockout = panel.get("lockout")
    if not lockout or not lockout.is_locked():
        return None
    until = format_minute(lockout.locked_until) + (" on a known device" if lockout.device else "")
    words = f"Locked until {until}, after {lockout.failures} failed attempts. "
    words += "Unlock the address, or wait."
    return Finding("bad", words, "unlock")


def check_password(user: User, panel: Panel) -> Finding | None:
    """For users whom a provider created that is no longer active."""
    providers = IdentityProvider.objects.filter(account=user.account_id, active=True)
    if user.has_usable_password() or providers.exists():
        return None
    return Finding("bad", "Has no password. Send a link to set one.", "send_password_link")


def check_wrong_codes(user: User, panel: Panel) -> Finding | None:
    factors = panel["factors"]
    if not factors or not factors.totp_id or factors.wrong_codes < MAX_WRONG_CODES:
        return None
    words = f"Authenticator app blocked after {MAX_WRONG_CODES} wrong codes. "
    words += "Signing in with a passkey or a recovery code unblocks it."
    return Finding("bad", words, "reset_factors")


def check_mail_limit(user: User, panel: Panel) -> Finding | None:
    """Mails of a kind beyond the hourly limit are dropped silently."""
    if "mails" not in panel:
        return None
    kinds = EmailedLink.models_by_label().values()
    budgets = [(kind, Budget.requests(kind, user.email)) for kind in kinds]
    by_key = {budget.key: (kind, budget) for kind, budget in budgets}
    since = timezone.now() - HOUR
    for count in MailBudget.objects.filter(name__in=by_key, begun_at__gt=since).order_by("-used"):
        kind, budget = by_key[count.name]
        if count.used > budget.limit:
            words = f"Mail limit reached: {count.used} {kind._meta.verbose_name} mails requested, "
            over = format_minute(count.begun_at + budget.window)
            words += f"{budget.limit} an hour allowed. Try again after {over}."
            return Finding("wait", words)
    return None


def check_last_mail(user: User, panel: Panel) -> Finding | None:
    last = next((mail for mail in panel.get("mails", []) if mail.state != MailState.DROPPED), None)
    if last is None or last.state not in {MailState.REFUSED, MailState.FAILED}:
        return None
    how = last.get_state_display() + (f" ({last.problem})" if last.problem else "")
    words = f"The last mail ({format_minute(last.created_at)}) was {how}. Check the address."
    return Finding("bad", words)


def check_last_link(user: User, panel: Panel) -> Finding | None:
    """The newest password link, unless the user has signed in since."""
    link = panel.get("last_link")
    if link is None or link.used_at or link.is_live():
        return None
    if user.last_sign_in_at and user.last_sign_in_at > link.created_at:
        return None
    expired = format_minute(link.expires_at)
    words = f"The last password link expired unused on {expired}. Send another."
    return Finding("wait", words, "send_password_link")


def check_invitations(user: User, panel: Panel) -> Finding | None:
    """An open invitation that the address cannot accept."""
    for invitation in panel.get("invitations", []):
        if invitation.account_id != user.account_id:
            words = f"Can't accept the invitation from {invitation.account}: "
            return Finding("wait", f"{words}the address already belongs to {user.account}.")
    return None


def diagnose_invitation(invitation: Invitation) -> Finding:
    """The sentence at the top of an invitation's page."""
    status = invitation.status
    if status == Status.ACCEPTED:
        return Finding("good", f"Accepted on {format_minute(invitation.used_at)}.")
    if status == Status.REVOKED:
        return Finding("wait", f"Revoked on {format_minute(invitation.revoked_at)}.")
    if User.objects.filter(email=invitation.email).exists():
        return Finding("wait", "Can't be accepted: the address already belongs to a user.")
    ends = format_minute(invitation.expires_at)
    if status == Status.EXPIRED:
        return Finding("wait", f"Expired unused on {ends}. Send it again.", "resend")
    if invitation.mail == "refused":
        words = "The mail could not be delivered. Check the address, and send it again."
        return Finding("bad", words, "resend")
    waits = invitation.mail == "waiting"
    words = "The mail has not been sent yet" if waits else "Sent, but not accepted yet"
    return Finding("wait" if waits else "good", f"{words}. The link works until {ends}.")
