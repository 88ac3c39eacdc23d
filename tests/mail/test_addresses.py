"""Mail goes to the stored address and to no other: Django's mailer decodes encoded words."""

import pytest
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend
from django.core.management import CommandError, call_command
from hypothesis import example, given, settings
from hypothesis import strategies as make

from accounts.models import Role, User
from audit.actors import COMMAND
from base.emails import new_email
from emailchanges.models import EmailChange
from invitations.models import Invitation
from mail.notices import Notice
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from signin.models import SignupLink
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.mail.conftest import request
from worker.rounds import Worker

ENCODED = "=?x?q?victim?=@example.com"  # is mailed to victim@example.com
FORMS = [
    ENCODED,
    "=?x?b?dmljdGlt?=@example.com",
    "a=?utf-8?q?y=25b?=@example.com",
    "=?utf-8?q?a=40b?=@example.com",
    "=?utf-8?q?=3e_orcpt=3d?=@example.com",
    "=?utf-8?q?=00?=@example.com",
    "=?utf-8?q?=0a?=@example.com",
    "=?x?q?victim?=@bücher.example",
    "=?@example.com",
]


def receivers(email):
    """The recipients that Django's mailer passes to the mail server for a mail to this address."""
    backend, envelopes = EmailBackend(), []
    backend.connection = type("Server", (), {"sendmail": lambda _, *args: envelopes.append(args)})()
    backend._send(EmailMessage("Subject", "Text", to=[email]))
    return envelopes[0][1]


CHARACTERS = "abQB019!#$%&'*+/=?^_`{|}~.-@ \"\\(),:;<>[]\u200b\u00e4\n"
WORDS = make.from_regex(r"=\?[a-z0-9*-]{1,9}\?[qb]\?[a-z0-9=_+/.]{0,12}\?=", fullmatch=True)
LOCAL_PARTS = make.lists(WORDS | make.text(CHARACTERS, max_size=6), min_size=1, max_size=4)
DOMAINS = make.sampled_from(
    ["example.com", "bücher.example", "xn--bcher-kva.example", "[10.0.0.5]"]
)
ADDRESSES = make.builds("{}@{}".format, LOCAL_PARTS.map("".join), DOMAINS) | make.emails()


@settings(derandomize=True, max_examples=2000, deadline=None, database=None)
@given(ADDRESSES)
@example("o'hara+x=y?z@example.com")
def test_accepted_address_is_the_one_that_is_mailed(text):
    try:
        email = new_email(text)
    except ValidationError:
        return
    assert receivers(email) == [email]


@pytest.mark.django_db
@pytest.mark.parametrize("email", FORMS)
def test_address_with_an_encoded_word_is_refused_at_every_door(api, ada, operator, email):
    admin, body = bearer(ada), {"email": email, "password": PASSWORD}
    answers = [api.post("/auth/signup", body)]
    answers += [admin.post(path, body) for path in ("/invitations", "/auth/email-changes")]
    assert [(answer.status_code, [*answer.json()["fields"]]) for answer in answers] == [
        (400, ["email"])
    ] * 3

    company = str(ada.account_id)
    for command in (
        ["createcompany", "Encoded", email],
        ["invite", company, email],
        ["changeemail", "ada@example.com", email],
        ["createsuperuser", "--noinput", "--email", email],
    ):
        with pytest.raises(CommandError):
            call_command(*command)
    form = {"account": company, "email": email, "role": "member", "language": "en"}
    assert operator.post("/admin/invitations/invitation/add/", form).status_code == 200
    assert not OutgoingMail.objects.exists()
    assert sorted(User.objects.values_list("email", flat=True)) == [ada.email, "op@example.com"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("email", FORMS)
def test_mail_that_an_older_release_queued_is_given_up(server, ada, caplog, email):
    """The mails are a request, a link and a notice. Each would reach another mailbox, or none."""
    request(email)
    Invitation(account=ada.account, email=email, role=Role.MEMBER).send(COMMAND)
    OutgoingMail.objects.queue_notice(Notice("password_changed", email, "en"))
    request("good@example.com")
    Worker().work_round()

    assert server.receivers() == ["good@example.com"]
    mails = OutgoingMail.objects.exclude(email="good@example.com")
    ends = mails.values_list("state", "problem")
    assert [*ends] == [(MailState.REFUSED, "its address is another one to mail servers")] * 3
    assert "Traceback" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_user_of_an_older_release_signs_in_and_is_sent_nothing(server, api, new_user):
    user = new_user(ENCODED)
    body = {"email": ENCODED, "password": PASSWORD}

    assert api.post("/auth/login", body).status_code == 200
    assert api.post("/password-changes", body).status_code == 200
    change = {"email": "safe@example.com", "password": PASSWORD}
    assert bearer(user).post("/auth/email-changes", change).status_code == 200
    Worker().work_round()
    assert server.receivers() == ["safe@example.com"]

    change = EmailChange.objects.get()
    assert bearer(user).post("/email-changes/redeem", {"token": change.token}).status_code < 300
    Worker().work_round()
    assert server.receivers() == ["safe@example.com"] * 2  # the link, and that it is changed
    assert User.objects.get().email == "safe@example.com"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/auth/complete-signup", "/password-changes/redeem"])
def test_link_that_was_mailed_to_another_address_is_dead(api, new_user, path):
    if path == "/auth/complete-signup":
        link = SignupLink.objects.create(email=ENCODED)
    else:
        link = PasswordChange.objects.create(email=ENCODED, user=new_user(ENCODED))
    names = {"account_name": "Company", "first_name": "Ada", "last_name": "Lovelace"}
    body = {"token": link.token, "password": "a new horse battery"}

    answer = api.post(path, body | (names if isinstance(link, SignupLink) else {}))

    assert (answer.status_code, answer.json()) == (400, {"error": "invalid or expired token"})
