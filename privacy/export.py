"""The data stored about a user, as values for JSON: for the user and for data requests."""

from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

import audit
from accounts.models import Consultant, User
from apikeys.models import ApiKey
from assistants.models import Grant
from audit.actors import Actor
from audit.models import AuditEvent, Kind
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from scim.models import ScimUser
from signin.devices import Device
from signin.factors.models import Factors, Passkey
from signin.models import SignupLink, UnlockLink
from sso.models import Identity
from throttling.models import Lockout

# The exported fields of each row. A test names each field that points to or names a user and is
# left out, and why.
PROFILE = ["id", "email", "first_name", "last_name", "role", "language", "is_active", "is_staff"]
PROFILE += ["is_superuser", "keeps_password", "created_at", "last_sign_in_at", "sign_in_mails"]
PROFILE += ["account_id", "account__name"]
CONSULTANT = ["id", "name", "account_id", "user_id", "manager_id"]
GRANT = ["client__name", "redirect_uri", "created_at", "redeemed_at", "used_at", "used_from"]
GRANT += ["ended_at"]
LINK = ["email", "language", "created_at", "expires_at", "used_at"]
INVITATION = [*LINK, "role", "account__name", "revoked_at", "invited_by_id"]
API_KEY = ["name", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"]
PROVISIONING = ["external_id", "changed_at", "removed_at"]
MAIL = ["kind", "email", "language", "state", "created_at", "sent_at"]
LOCKOUT = ["email", "device", "failures", "failed_at", "locked_until", "refusals"]
EVENT = ["at", "kind", "actor_email", "subject", "address", "agent", "request_id", "detail"]
MAX_EXPORTED_EVENTS = 10_000  # in one answer


def values_of(rows: QuerySet[Any], fields: list[str]) -> list[dict[str, Any]]:
    return list(rows.order_by("pk").values(*fields))


def collect_user_data(user: User, emails: set[str]) -> dict[str, Any]:
    """The user's data by kind, without events: a dictionary for the profile, one of lists for the
    links, and a list of rows for each other kind. `emails` are `user.current_and_former_emails()`,
    which leave out addresses that another user has now. Raises User.DoesNotExist if the user was
    erased.

    E-mail changes are included only if completed, and their mails never: a mail without a link
    would reveal that the requested address is taken.
    """
    own, by_email = {"user": user}, {"email__in": emails}
    changes = EmailChange.objects.filter(**own, used_at__isnull=False)
    undos, unlocks = UndoEmailChange.objects.filter(**own), UnlockLink.objects.filter(**own)
    apps = Factors.objects.filter(**own, totp_id__isnull=False)
    passkeys = Passkey.objects.filter(factors__user=user)
    mails = OutgoingMail.objects.filter(**by_email).exclude(kind=EmailChange._meta.label_lower)
    identities = Identity.objects.filter(**own).annotate(connection__issuer=F("provider__issuer"))
    devices = Device.objects.filter(**own)
    return {
        "profile": User.objects.values(*PROFILE).get(pk=user.pk),
        "consultant": values_of(Consultant.objects.filter(**own), CONSULTANT),
        "manages": values_of(Consultant.objects.filter(manager=user), CONSULTANT),
        "assistants": values_of(Grant.objects.filter(**own), GRANT),
        "links": {
            "sign-up links": values_of(SignupLink.objects.filter(**by_email), LINK),
            "invitations": values_of(Invitation.objects.filter(**by_email), INVITATION),
            "password changes": values_of(PasswordChange.objects.filter(**own), LINK),
            "unlock links": values_of(unlocks, [*LINK, "network", "locked_at"]),
            "undo links for e-mail changes": values_of(undos, [*LINK, "new_email"]),
            "e-mail changes": values_of(changes, [*LINK, "old_email"]),
        },
        "authenticator_apps": values_of(apps, ["totp_name", "totp_added_at", "totp_used_at"]),
        "passkeys": values_of(passkeys, ["name", "created_at", "last_used_at"]),
        "invitations_sent": values_of(Invitation.objects.filter(invited_by=user), INVITATION),
        "api_keys_made": values_of(ApiKey.objects.filter(created_by=user), API_KEY),
        "identities": values_of(identities, ["connection__issuer", "sub", "created_at"]),
        "provisioning": values_of(ScimUser.objects.filter(**own), PROVISIONING),
        "mails": values_of(mails, MAIL),
        "devices": values_of(devices, ["name", "network", "created_at", "used_at"]),
        "locks_and_devices": values_of(Lockout.objects.filter(**by_email), LOCKOUT),
    }


def export_user(user: User, actor: Actor, before: int | None = None) -> dict[str, Any]:
    """Return the user's data, the newest MAX_EXPORTED_EVENTS events as the user may read them
    (`trail`), and `next`: the value of `before` for older events, which may be none, or None if
    this answer has fewer than MAX_EXPORTED_EVENTS. With `before`, the id of an event, only events
    before it are returned. Records each export first. The caller has checked that `actor` is the
    user or a command. Raises User.DoesNotExist if the user was erased before.
    """
    with transaction.atomic():
        # Locked, so that an erasure finds the event.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        audit.record(Kind.DATA_EXPORTED, actor=actor, subject=user)
    emails = user.current_and_former_emails()
    user_data = collect_user_data(user, emails) if before is None else {}
    filters = {} if before is None else {"pk__lt": before}
    events = AuditEvent.objects.filter(**filters).newest_of(user.pk, emails, MAX_EXPORTED_EVENTS)
    rows = [{name: getattr(event, name) for name in EVENT} for event in user.redact_events(events)]
    next_before = events[-1].pk if len(events) == MAX_EXPORTED_EVENTS else None
    return user_data | {"trail": rows, "next": next_before}
