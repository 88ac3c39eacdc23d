"""GET /pages/overview, and the sentences and groups of audit events on the people page."""

import re

from django.utils import timezone

from accounts.events import KIND_GROUPS
from accounts.models import User
from audit.models import Kind
from invitations.models import Invitation
from tests.accounts.helpers import signed_in
from tests.tables import compare

PATH = "/pages/overview"


def test_figures_cover_the_own_company_only(as_ada, ada, bob, eve, new_user):
    new_user(account=ada.account)
    signed_in(ada, 89)
    signed_in(bob, 91)
    User.objects.filter(pk=ada.pk).update(has_second_factor=True)
    Invitation.objects.invite(ada, "charles@example.com")
    Invitation.objects.invite(eve, "other@example.com")
    figures = as_ada.get(PATH).json()

    assert figures == {
        "people": 3, "admins": 1, "without_factor": 2, "absent": 1, "never": 1, "invitations": 1,
        "has_tested_provider": False,
    }  # fmt: skip


def test_deactivated_users_are_not_counted(as_ada, bob):
    User.objects.filter(pk=bob.pk).update(is_active=False, role="admin")
    figures = as_ada.get(PATH).json()

    assert (figures["people"], figures["admins"], figures["without_factor"]) == (1, 1, 1)


def test_expired_invitation_is_not_counted(as_ada, ada):
    Invitation.objects.invite(ada, "charles@example.com")
    Invitation.objects.update(expires_at=timezone.now())

    assert as_ada.get(PATH).json()["invitations"] == 0


# Events without a company: failures, lockouts, keys, the operators' own, and a deleted company.
NOT_OF_COMPANIES = {
    Kind.LOGIN_FAILED,
    Kind.LOGIN_LOCKED,
    Kind.CODES_STOPPED,
    Kind.LOCK_SET,
    Kind.KEY_PUBLISHED,
    Kind.KEY_REMOVED,
    Kind.EXPORTED,
    Kind.RESTORED,
    Kind.COMPANY_DELETED,
}


def test_every_kind_of_event_has_a_sentence(api):
    kinds_with_sentence = set(
        re.findall(r'data-kind="([a-z_.]+)[":]', api.get("/people").content.decode())
    )

    advice = "add a sentence to pages/templates/pages/events.html, or the kind to NOT_OF_COMPANIES"
    compare(kinds_with_sentence | NOT_OF_COMPANIES, set(Kind.values), advice)


def test_every_kind_of_event_is_in_a_group():
    """The people page filters events of companies by group."""
    groups = {prefix for prefixes in KIND_GROUPS.values() for prefix in prefixes}
    kinds = set(Kind.values) - NOT_OF_COMPANIES

    missing = {kind for kind in kinds if kind.split(".")[0] not in groups}
    assert not missing, f"add the first part of {missing} to KIND_GROUPS in accounts/events.py"
