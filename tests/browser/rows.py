"""Fills a service's database with one row at least of each model that the back office shows, and
prints their keys by the models' labels: `python -m tests.browser.rows`."""

import json
import sys
from datetime import timedelta

import django

AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Sa"
LONG = "somebody.with.quite.a.long.address@subsidiary.analytical-engines.example.com"


def fill():
    from django.core.management import call_command
    from django.utils import timezone

    import audit
    from accounts.models import Account, Consultant, Role, User
    from apikeys.models import ApiKey
    from assistants.models import Client, Grant
    from audit.models import AuditEvent, Kind
    from emailchanges.models import EmailChange, UndoEmailChange
    from invitations.models import Invitation
    from keys.models import SigningKey
    from mail.outbox import MailState, OutgoingMail
    from passwords.models import PasswordChange
    from privacy.models import Erasure
    from signin.factors.models import Factors
    from signin.models import SignupLink, UnlockLink
    from sso.models import IdentityProvider
    from throttling.models import Lockout, NetworkLimit

    call_command("roles", stdout=sys.stderr)
    now, company = timezone.now(), Account.objects.create(name="Analytical Engines")
    boss = User.objects.create_user(LONG, account=company, role=Role.ADMIN, last_name="Babbage")
    user = User.objects.create_user(
        "bob@example.com", account=company, first_name="Bob", last_name="Boole"
    )
    client = Client.objects.create(name="Claudia", redirect_uris=["https://claudia.example/back"])
    Factors.objects.create(user=user)
    User.objects.filter(pk=user.pk).update(has_second_factor=True)
    for _ in range(5):
        Lockout.objects.record_failure(user.email)
        Lockout.objects.record_failure(LONG)
    for age in [0, 0, 1, 2, 3, 3, 3, 8, 9, 20]:
        for kind in (Kind.LOGIN_FAILED, Kind.LOGIN_SUCCEEDED, Kind.SIGNUP_COMPLETED):
            step = timedelta(hours=age) if kind == Kind.LOGIN_FAILED else timedelta(days=age)
            AuditEvent.objects.create(
                kind=kind, at=now - step, subject=LONG, address="2001:db8::/64", agent=AGENT
            )
    AuditEvent.objects.bulk_create(  # a second page of the list
        AuditEvent(kind=Kind.LOGIN_FAILED, at=now, subject=LONG, address="2001:db8::/64")
        for _ in range(60)
    )
    audit.record(Kind.LOCK_CLEARED, actor=boss, subject=user.email)
    problem = {"state": MailState.REFUSED, "problem": "SMTPRecipientsRefused 550"}
    mine = {"user": user, "email": user.email}
    made = [
        company,
        user,
        Consultant.objects.create(account=company, user=user, manager=boss, name="Bob Boole"),
        client,
        Grant.objects.create(
            user=user,
            client=client,
            redirect_uri=client.redirect_uris[0],
            token_version=user.token_version,
            redeemed_at=now,
        ),
        Invitation.objects.invite(boss, "charles@example.com"),
        OutgoingMail.objects.create(kind="signin.signuplink", email="new@example.com", **problem),
        PasswordChange.objects.create(**mine),
        EmailChange.objects.create(user=user, email="new@example.com", old_email=user.email),
        UndoEmailChange.objects.create(user=user, email=user.email, new_email="new@example.com"),
        SignupLink.objects.create(email="new@example.com", expires_at=now),
        UnlockLink.objects.create(**mine),
        Lockout.objects.get(email=user.email),
        IdentityProvider.objects.configure(
            boss, issuer="https://provider.example", client_id="consulting", client_secret="x"
        ),
        ApiKey.objects.make(boss, "Payroll", ["users:read", "events:read"])[0],
        NetworkLimit.objects.create(network="203.0.113.0/24", limit=200),
        AuditEvent.objects.first(),
        SigningKey.objects.first(),
        Erasure.objects.create(pseudonym="erased-0123456789abcdef", alias=user.pk, done_at=now),
    ]
    return {row._meta.label: str(row.pk) for row in made if row}


if __name__ == "__main__":
    django.setup()
    sys.stdout.write(json.dumps(fill()))
