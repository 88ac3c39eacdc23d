"""Password-change links in the admin site: looked at, and sent to a user who asks for help."""

import pytest

from accounts.models import User
from audit.models import Record
from passwords.models import PasswordChange
from tests.conftest import mailed_token
from tests.passwords.conftest import redeem

pytestmark = pytest.mark.django_db
LIST = "/admin/passwords/passwordchange/"


def test_link_is_sent_to_active_users(operator, api, ada, bob):
    User.objects.filter(pk=ada.pk).update(is_active=False)
    chosen = {"action": "send_password_link", "_selected_action": [str(ada.pk), str(bob.pk)]}
    page = operator.post("/admin/accounts/user/", chosen, follow=True).content.decode()

    assert "A password link is on its way to" in page
    assert "Ada Lovelace: deactivated users can&#x27;t use a password link." in page
    record = Record.objects.get()
    assert (record.kind, record.actor_email) == ("password.link", "op@example.com")
    assert record.subject == "bob@example.com"
    assert redeem(api, mailed_token()).status_code == 200


def test_page_shows_no_secret_and_changes_nothing(operator, token):
    link = PasswordChange.objects.get()
    page = operator.get(f"{LIST}{link.pk}/change/")

    assert page.status_code == 200
    assert "generation" not in page.content.decode().lower()
    assert token not in page.content.decode()
    assert operator.get(f"{LIST}add/").status_code == 403
    assert operator.post(f"{LIST}{link.pk}/change/", {}).status_code == 403
