from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Account, Consultant, Role
from apikeys.models import ApiKey
from invitations.models import Invitation
from sso.models import Domain, IdentityProvider
from tests.authority.world import surround


@pytest.fixture
def world(new_user, monkeypatch):
    monkeypatch.setattr("sso.configuration.has_txt_record", lambda name, value: True)
    customer, other, operators = (
        Account.objects.create(name="Analytical Engines"),
        Account.objects.create(name="Eavesdroppers"),
        Account.objects.get_or_create_operators(),
    )
    Account.objects.create(name="Third")
    for account in (customer, other, operators):
        Consultant.objects.create(account=account, name="free")
        Domain.objects.create(account=account, name=f"{account.pk}.example")
        made = IdentityProvider(
            pk=account.pk, account=account, issuer="https://idp.example", active=True
        )
        made.tested_at = made.configured_at
        made.save()
        facts = {"scopes": [], "expires_at": timezone.now() + timedelta(days=1)}
        facts |= {"pk": account.pk, "digest": str(account.pk)}
        ApiKey.objects.create(account=account, name="Payroll", **facts)
        inviter = new_user(account=account, role=Role.ADMIN)  # who stays an admin
        Invitation.objects.create(account=account, invited_by=inviter, email="open@example.com")
    people = {
        "member": new_user("member@example.com", account=customer),
        "admin": new_user("admin@example.com", account=customer, role=Role.ADMIN),
        "staff": new_user("staff@example.com", account=customer, is_staff=True),
        "superuser": new_user(
            "superuser@example.com", account=customer, is_staff=True, is_superuser=True
        ),
        "operators": new_user("operators@example.com", account=operators),
        "other": new_user("other@example.com", account=other),
    }
    for user in people.values():
        surround(user)
    return {"people": people, "companies": {"customer": customer, "operators": operators}}
