"""Password-change links in the admin site: sent to a user who asks for help."""

import pytest

from accounts.models import User
from audit.models import AuditEvent
from tests.mailbox import mailed_token
from tests.passwords.conftest import redeem

pytestmark = pytest.mark.django_db


def test_link_is_sent_to_active_users(operator, api, ada, bob):
    User.objects.filter(pk=ada.pk).update(is_active=False)
    chosen = {"action": "send_password_link", "_selected_action": [str(ada.pk), str(bob.pk)]}
    page = operator.post("/admin/accounts/user/", chosen, follow=True).content.decode()

    assert "A password link is on its way to" in page
    assert "Ada Lovelace: deactivated users can&#x27;t use a password link." in page
    record = AuditEvent.objects.get()
    assert (record.kind, record.actor_email) == ("password.link", "op@example.com")
    assert record.subject == "bob@example.com"
    assert redeem(api, mailed_token()).status_code == 200
