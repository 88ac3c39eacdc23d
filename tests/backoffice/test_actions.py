"""Actions of the admin site take effect at once and are recorded."""

import pytest
from django.contrib import admin

from accounts.models import User
from audit.models import AuditEvent
from base.admin import OfficeAdmin
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from signin.models import UnlockLink
from tests.backoffice.helpers import list_of, page_of, take_action, text
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


def test_user_page_shows_no_hash(operator, bob):
    page = operator.get(page_of(bob))

    assert page.status_code == 200
    assert "argon2" not in page.content.decode()


@pytest.mark.parametrize("model", [PasswordChange, UnlockLink])
def test_link_page_shows_no_token_and_is_read_only(operator, bob, model):
    link = model.objects.create(user=bob, email=bob.email)
    page = text(operator, page_of(link))

    assert "bob@example.com" in page
    assert "generation" not in page.lower()
    assert link.token not in page
    assert operator.get(f"{list_of(model)}add/").status_code == 403
    assert operator.post(page_of(link), {}).status_code == 403


def test_sign_out_works_at_once(operator, bob, as_bob):
    assert "Signed Bob Boole out everywhere." in take_action(operator, "sign_out", bob)
    assert as_bob.get("/auth/me").status_code == 401
    assert AuditEvent.objects.get(kind="logout.everywhere").actor_email == "op@example.com"


def test_operator_who_signs_herself_out_sees_the_message_on_the_sign_in_page(operator):
    operator_user = User.objects.get(email="op@example.com")
    page = take_action(operator, "sign_out", operator_user)

    assert 'name="password"' in page
    assert "Signed op@example.com out everywhere." in page
    assert operator.get("/admin/").status_code == 302


def test_deactivate_works_at_once_but_spares_the_last_admin(operator, ada, bob, as_bob):
    assert "and ended all sessions." in take_action(operator, "deactivate", bob)
    assert as_bob.get("/auth/me").status_code == 401
    assert "last admin" in take_action(operator, "deactivate", ada)
    assert AuditEvent.objects.filter(kind="user.deactivated").count() == 1


def test_lockout_is_cleared_and_recorded(operator):
    Lockout.objects.record_failure("ada@example.com")
    unlock_action = operator, "clear", Lockout.objects.get()

    assert "ada@example.com can sign in again." in take_action(*unlock_action)
    assert "Nothing to change." in take_action(*unlock_action)
    assert AuditEvent.objects.get(kind="lock.cleared").actor_email == "op@example.com"


def test_mail_is_tried_again(operator, ada):
    mail = OutgoingMail.objects.create(
        kind="signin.signuplink", email="a@example.com", state=MailState.FAILED, link_id=ada.pk
    )
    assert "a@example.com" in text(operator, list_of(OutgoingMail), q="A@Ex")
    page = take_action(operator, "try_again", mail)

    assert "Sign-up link to a@example.com will be tried again." in page
    assert OutgoingMail.objects.get().state == MailState.READY


def test_every_model_admin_is_an_office_admin():
    assert all(isinstance(page, OfficeAdmin) for page in admin.site._registry.values())
