"""The calls with which admins set up their company's provider."""

from functools import partial

import pytest
from django.db import IntegrityError
from django.utils import timezone

from accounts.models import Account, User
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from mail.outbox import OutgoingMail
from privacy.models import Erasure
from sso.models import Domain, Identity, IdentityProvider, ProviderMetadata
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.mailbox import mailed
from tests.privacy.conftest import finish
from tests.races import race
from tests.signin.factors.helpers import code, with_app, wrong_code
from tests.sso.helpers import (
    PATH,
    make_break_glass_admin,
    outcome,
    patch_provider,
    put_provider,
    sso_notices,
)
from tests.sso.provider import ANSWERS, CLIENT, SECRET

pytestmark = pytest.mark.django_db

UNTESTED = 409, "test the connection first"
URI = "http://127.0.0.1:8000/auth/sso/{}/callback"


def test_redirect_uri_is_shown_before_a_provider_is_set_up(ada, as_ada, provider):
    before = as_ada.get(PATH).json()
    after = put_provider(ada, provider).json()

    assert before["redirect_uri"] == after["redirect_uri"] == URI.format(ada.account_id)
    assert (before["issuer"], before["active"], before["creates_users"]) == (None, False, True)
    assert after["issuer"] == provider.issuer
    assert (after["client_id"], after["tested_at"]) == (CLIENT, None)


def test_client_secret_is_encrypted_and_never_shown(ada, provider):
    answer = put_provider(ada, provider)
    row = IdentityProvider.objects.values().get()

    answers = answer.content.decode() + bearer(ada).get(PATH).content.decode()
    assert SECRET not in answers + str(row)
    assert IdentityProvider.objects.get().secret == SECRET


def test_spaces_around_what_is_copied_do_not_matter(ada, provider):
    values = {"issuer": provider.issuer, "client_id": CLIENT, "client_secret": SECRET}
    put_provider(ada, provider, **{name: f" {value}\u00a0" for name, value in values.items()})

    stored = IdentityProvider.objects.get()
    assert [stored.issuer, stored.client_id, stored.secret] == [*values.values()]


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_change_of_the_provider_needs_reauthentication(ada, as_ada, provider, connection, method):
    body = {"issuer": provider.issuer, "client_id": "2", "client_secret": "3", "active": False}

    def call(**proof):
        return as_ada.call(method, PATH, body | {"password": PASSWORD} | proof)

    assert outcome(call(password="wrong")) == (403, "wrong password")
    with_app(ada)
    assert outcome(call()) == (403, "second factor required")
    assert outcome(call(code=wrong_code())) == (403, "wrong code")
    assert IdentityProvider.objects.get().active
    assert call(code=code()).status_code in {200, 204}
    assert not IdentityProvider.objects.filter(active=True).exists()


def test_unusable_issuer_is_answered_with_advice(ada, provider):
    def refused(**changes):
        answer = put_provider(ada, provider, **changes)
        return answer.status_code, list(answer.json()["fields"])

    for issuer in ("https://localhost", "http://localhost:1", "x", f"{provider.issuer}/"):
        assert refused(issuer=issuer) == (400, ["issuer"])
    provider.metadata = {"issuer": "https://another.example"}
    assert refused() == (400, ["issuer"])
    assert refused(client_id="") == (400, ["client_id"])
    assert not IdentityProvider.objects.exists()


@pytest.mark.parametrize(("path", "answer", "advice"), [
    ("/.well-known/openid-configuration", "redirect", "without /.well-known."),
    ("/.well-known/openid-configuration", "page", "without /.well-known."),
    ("/.well-known/openid-configuration", "failure", "Check the address."),
    ("/keys", "page", "Check the address."),
])  # fmt: skip
def test_issuer_without_metadata_is_answered_with_how_to_write_it(
    ada, provider, path, answer, advice
):
    provider.says[path] = ANSWERS[answer]

    fields = put_provider(ada, provider).json()["fields"]
    assert fields["issuer"][0].endswith(advice)


def test_answer_does_not_reveal_private_host_names(ada, provider):
    issuers = "https://localhost", "https://nowhere.invalid"
    inside, unknown = (put_provider(ada, provider, issuer=issuer) for issuer in issuers)

    assert inside.status_code == unknown.status_code == 400
    assert inside.json() == unknown.json()


def test_replaced_provider_is_off_until_it_is_tested(ada, provider, connection):
    Identity.objects.create(provider=connection, user=ada, sub="1")

    assert put_provider(ada, provider).json()["active"] is True  # nothing is different
    assert put_provider(ada, provider, client_secret="another").json()["active"] is False
    assert Identity.objects.exists()
    assert outcome(patch_provider(ada, active=True)) == UNTESTED
    assert put_provider(ada, provider, client_id="another").status_code == 200
    assert not Identity.objects.exists()
    assert sso_notices() == [(ada.email, "replaced")] * 2


def test_admin_chooses_whether_unverified_addresses_are_trusted(ada, as_ada, provider):
    assert as_ada.get(PATH).json()["trusts_emails"] is False
    assert put_provider(ada, provider).json()["trusts_emails"] is False
    assert put_provider(ada, provider, trusts_emails="yes").status_code == 400
    IdentityProvider.objects.update(tested_at=timezone.now(), active=True)
    trusting = put_provider(ada, provider, trusts_emails=True).json()
    assert (trusting["trusts_emails"], trusting["active"]) == (True, False)  # to be tested again
    assert AuditEvent.objects.filter(kind=Kind.SSO_CONFIGURED).first().detail == {
        "client": CLIENT, "trusts_emails": True,
    }  # fmt: skip
    IdentityProvider.objects.update(tested_at=timezone.now(), active=True)
    assert put_provider(ada, provider).json()["active"] is True  # nothing is different
    assert put_provider(ada, provider, client_secret="another").json()["trusts_emails"] is True
    assert put_provider(ada, provider, trusts_emails=False).json()["trusts_emails"] is False
    put_provider(ada, provider, trusts_emails=True)
    provider.issuer = f"{provider.issuer}/"
    assert put_provider(ada, provider).json()["trusts_emails"] is False


@pytest.mark.parametrize(
    "wrong",
    [{"tested_at": None}, {"active": False, "required": True}, {"stopped_at": timezone.now()}],
)
def test_database_refuses_impossible_states_of_a_provider(connection, wrong):
    with pytest.raises(IntegrityError, match="connection_"):
        IdentityProvider.objects.update(**wrong)


def test_every_admin_is_mailed_every_switch(ada, new_user, connection):
    cid = new_user(account=ada.account, role="admin")
    make_break_glass_admin(cid)
    for switches in ({"active": False}, {"active": True}, {"active": True}, {"required": True}):
        assert patch_provider(ada, **switches).status_code == 200

    changes = ["off", "on", "required"]
    for admin in (ada, cid):
        assert [change for email, change in sso_notices() if email == admin.email] == changes
    events = AuditEvent.objects.filter(kind=Kind.SSO_CHANGED).order_by("pk")
    assert [event.detail for event in events] == [
        {"active": False}, {"active": True}, {"required": True},
    ]  # fmt: skip


def test_admins_are_mailed_when_a_removed_domain_allows_passwords_again(ada, as_ada, connection):
    unproved = Domain.objects.create(account=ada.account, name="not-proved.example")
    proved = Domain.objects.get(account=ada.account, proved_at__isnull=False)
    for domain in (unproved, proved):
        assert as_ada.delete(f"/account/domains/{domain.pk}").status_code == 204

    mail = OutgoingMail.objects.get(kind="notice.sso_changed")
    assert (mail.email, mail.context["domain"]) == (ada.email, proved.name)
    assert f"The domain {proved.name} was removed" in mailed().body.replace("\u2060", "")


def test_switched_off_provider_is_not_required(ada, new_user, connection):
    make_break_glass_admin(new_user(account=ada.account))
    patch_provider(ada, required=True)
    make_break_glass_admin(ada)
    User.objects.filter(pk=ada.pk).update(has_second_factor=False)
    IdentityProvider.objects.get().change_switches(User.objects.get(pk=ada.pk), active=False)

    assert not IdentityProvider.objects.get().required
    assert outcome(patch_provider(ada, required=True)) == UNTESTED


def test_removed_provider_leaves_the_users(ada, as_ada, connection):
    Identity.objects.create(provider=connection, user=ada, sub="1")

    body = {"password": PASSWORD}
    assert as_ada.call("delete", PATH, body).status_code == 204

    assert as_ada.get(PATH).json()["issuer"] is None
    assert as_ada.call("delete", PATH, body).status_code == 404
    assert not Identity.objects.exists()
    assert sso_notices() == [(ada.email, "off")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("change", "answers"), [
    (lambda ada, provider: put_provider(ada, provider, client_id="another"), {200}),
    (lambda ada, provider: patch_provider(ada, active=False), {200, 404}),
    (lambda ada, provider: bearer(ada).call("delete", PATH, {"password": PASSWORD}), {204, 404}),
])  # fmt: skip
def test_provider_that_is_removed_while_it_is_changed(ada, provider, connection, change, answers):
    remove = partial(bearer(ada).call, "delete", PATH, {"password": PASSWORD})

    removed, changed = race(remove, partial(change, ada, provider))

    assert {removed.status_code, changed.status_code} <= answers | {204}
    assert ProviderMetadata.objects.count() == IdentityProvider.objects.count()
    assert AuditEvent.objects.filter(kind=Kind.SSO_REMOVED).count() == 1


def test_admins_of_the_operators_company_set_up_no_provider(ada, as_ada, provider):
    Account.objects.filter(pk=ada.account_id).update(is_operators=True)

    assert put_provider(ada, provider).status_code == 403
    assert as_ada.post("/account/domains", {"name": "example.com"}).status_code == 403


def test_deleted_company_takes_provider_and_domains(ada, connection):
    Identity.objects.create(provider=connection, user=ada, sub="1")

    Erasure.objects.delete_company(ada.account, COMMAND)

    body = {"email": "new@example.com", "challenge": "x" * 43}
    assert API().post("/auth/sso", body).json()["url"] is None  # from this moment on
    finish()
    assert not any(model.objects.exists() for model in (IdentityProvider, Domain, Identity))
