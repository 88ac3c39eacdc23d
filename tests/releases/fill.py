"""Fills an empty, migrated database of the present release with what an installation holds, and
prints what its people hold: links, tokens, passwords. For a release's dumps, once:

    DATABASE_URL=… SECRET_KEY=… python -m tests.releases.fill > tests/releases/1.0.0.json
    pg_dump --no-owner --no-privileges, or sqlite3's .dump, > tests/releases/1.0.0.….sql
"""

import json
import os
from datetime import UTC, datetime

import django

PASSWORD = "correct horse battery"
SECRET_KEY = "the secret of the databases that releases have left behind, and of nothing else"
FOREVER = datetime(2099, 1, 1, tzinfo=UTC)


def fill():
    """Make the rows; what their owners hold, by name."""
    from django.utils import timezone

    from accounts.models import Account, Consultant, Role, User
    from assistants.models import Client, Grant
    from invitations.models import Invitation
    from keys.models import PublishedKey
    from mail.outbox import OutgoingMail
    from passwords.models import PasswordChange
    from signin.models import SignupLink
    from throttling.models import Lockout

    company = Account.objects.create(name="Analytical Engines")
    ada = User.objects.create_user(
        "ada@example.com",
        PASSWORD,
        account=company,
        first_name="Ada",
        last_name="Lovelace",
        role=Role.ADMIN,
    )
    bob = User.objects.create_user("bob@example.com", PASSWORD, account=company, language="sv")
    User.objects.create_user("locked@example.com", PASSWORD, account=company)
    User.objects.create_superuser("op@example.com", PASSWORD)
    Consultant.objects.create(account=company, name="Bob Boole", user=bob, manager=ada)
    signup = SignupLink.objects.create(email="charles@example.com", expires_at=FOREVER)
    invitation = Invitation.objects.invite(ada, "grace@example.com")
    Invitation.objects.update(expires_at=FOREVER)
    change = PasswordChange.objects.make(bob)
    PasswordChange.objects.update(expires_at=FOREVER)
    OutgoingMail.objects.request(SignupLink, "new@example.com", "de")
    now = timezone.now()
    Lockout.objects.create(
        email="locked@example.com", failures=5, failed_at=now, locked_until=FOREVER
    )
    client = Client.objects.create(name="Claudia", redirect_uris=["https://claudia.example/back"])
    grant = Grant.objects.create(
        user=ada,
        client=client,
        redirect_uri=client.redirect_uris[0],
        token_version=ada.token_version,
        redeemed_at=now,
        used_at=now,
    )
    PublishedKey.objects.withdraw("a-key-of-before")
    return {
        "signup": signup.token,
        "invitation": invitation.token,
        "password change": change.token,
        "grant": grant.tokens()["refresh_token"],
        "client": str(client.pk),
    }


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps(fill(), indent=1))  # noqa: T201
