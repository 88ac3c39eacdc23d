"""Query strings of the admin site: a list is filtered by what it offers and by no other column, and
an odd value is never a 500."""

from pathlib import Path
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import SuspiciousOperation
from django.test import RequestFactory
from django.urls import reverse
from django.utils.timezone import now

from accounts.models import Account, User
from audit.models import AuditEvent
from invitations.models import Invitation
from mail.links import EmailedLink
from mail.message import compose_subject
from mail.notices import SUBJECT_NEEDS_CONTEXT, Notice
from mail.outbox import MailState, OutgoingMail
from signin.models import SignupLink

pytestmark = pytest.mark.django_db

# Filters by model, besides Django's own parameters. Models not named here have none.
OFFERED = {
    "invitations.Invitation": {"role__exact", "role__isnull"},
    "throttling.Lockout": {"locked"},
    "mail.OutgoingMail": {"state__exact", "state__isnull"},
    "audit.AuditEvent": {"kind__exact", "kind__isnull", "at__gte", "at__lt"},
    "accounts.User": {
        f"{name}__{look}" for name in ("is_active", "is_staff", "role")
        for look in ("exact", "isnull")
    },
    "sso.IdentityProvider": {
        f"{name}__{look}" for name in ("active", "required") for look in ("exact", "isnull")
    },
}  # fmt: skip
LOOKS = ["", "exact", "startswith", "isnull", "gte"]
CONTROLS = ["q", "p", "o", "e", "all", "_facets", "_popup"]
MODELS = pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model.__name__)


def lists(model):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def spans(model):
    """Every column, and every column of each related model."""
    here = model._meta.concrete_fields
    columns = {name for field in here for name in (field.name, field.attname)}
    for relation in model._meta.get_fields():
        if relation.is_relation and relation.related_model:
            there = relation.related_model._meta.concrete_fields
            columns |= {f"{relation.name}__{field.name}" for field in there}
    return columns | {"pk"}


def is_allowed(model, user, query):
    request = RequestFactory().get(lists(model), query)
    request.user = user
    try:
        admin.site.get_model_admin(model).get_changelist_instance(request)
    except SuspiciousOperation:
        return False
    except IncorrectLookupParameters:
        return True  # the column, but not this value
    return True


@MODELS
def test_no_column_is_filtered_by_that_no_list_offers(model, ada):
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    root = User.objects.get(pk=ada.pk)
    asked = {f"{span}__{look}".removesuffix("__") for span in spans(model) for look in LOOKS}
    allowed = {lookup for lookup in asked if is_allowed(model, root, {lookup: "1"})}

    assert allowed <= OFFERED.get(model._meta.label, set())


@MODELS
def test_what_is_offered_is_answered(model, operator):
    for name in [*CONTROLS, *OFFERED.get(model._meta.label, set())]:
        answer = operator.get(lists(model), {name: "1"}, follow=True)
        assert answer.status_code == 200, name


@pytest.mark.parametrize(
    ("status", "model", "query"),
    [
        (200, AuditEvent, "at__gte=9999-12-31T00:00Z"),
        (200, AuditEvent, "at__gte=yesterday"),
        (400, AuditEvent, "at__lt=%00"),
        (400, AuditEvent, "kind__exact=%00"),
        (400, AuditEvent, "kind__exact=login.failed&kind__exact=x%00"),
        (200, AuditEvent, "q=%00"),
        (200, User, "is_active__exact=perhaps"),
        (400, User, "role__exact=admin%00"),
        (200, User, "o=" + ".".join(["1", "-2", "99", "x", "-"] * 700)),
        (200, User, "q=" + "+".join(["e"] * 1900)),
        (400, OutgoingMail, "state__exact=%00"),
        (400, User, "_to_field=password"),
        (400, User, "_to_field=%00"),
        (400, User, "_popup=1&_to_field=email"),
    ],
)
def test_odd_value_is_no_500(operator, status, model, query):
    answer = operator.get(f"{lists(model)}?{query}", follow=True)

    assert answer.status_code == status
    assert answer["Content-Type"].startswith("text/html")


AUTOCOMPLETE = "/admin/autocomplete/?app_label={}&model_name={}&field_name={}&term={}"


ODD_IDS = ["x", "\0", "", "-1", str(2**70), f"{uuid4()}0", "__all__", "x" * 300]


@MODELS
def test_odd_id_in_an_action_is_no_500(operator, rf, model):
    request = rf.get(lists(model))
    request.user = User.objects.get(is_superuser=True)
    for action in admin.site.get_model_admin(model).get_actions(request):
        for odd in ODD_IDS:
            for more in ({}, {"post": "yes"}, {"index": odd}, {"select_across": odd}):
                form = {"action": action, "_selected_action": [odd, str(uuid4())]} | more
                assert operator.post(lists(model), form).status_code in {200, 302, 400}


def test_odd_autocompletion_is_no_500(operator):
    fields = {
        (model, field.name) for model in apps.get_models() for field in model._meta.get_fields()
    }
    for model, name in fields:
        of_field = {"app_label": model._meta.app_label, "model_name": model._meta.model_name}
        of_field["field_name"] = name
        for query in ({}, {"term": "\0"}, {"page": "x"}, {"page": str(2**70)}):
            answer = operator.get("/admin/autocomplete/", of_field | query)
            assert answer.status_code in {200, 400, 403, 404}


def test_autocomplete_filters_by_no_column(operator, ada):
    url = AUTOCOMPLETE.format("accounts", "consultant", "account", "anal")
    plain = operator.get(url)

    assert ada.account.name in plain.content.decode()
    assert operator.get(f"{url}&name__startswith=x").content == plain.content


@pytest.mark.parametrize("model", [SignupLink, OutgoingMail])
def test_links_and_mails_are_found_by_any_part_of_the_address(model, operator):
    kind = (
        {"kind": "signin.signuplink", "problem": "SMTPRecipientsRefused 550"}
        if model is OutgoingMail
        else {}
    )
    row = model.objects.create(email="grace@hopper.example", **kind)
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"

    found = operator.get(reverse(f"{name}_changelist"), {"q": "hopper"})
    page = operator.get(reverse(f"{name}_change", args=[row.pk]))

    assert "grace@hopper.example" in found.content.decode()
    if model is OutgoingMail:
        assert "Sign-up link" in page.content.decode()
        assert "550" in page.content.decode()
        assert "/admin/accounts/user/?q=grace%40hopper.example" in page.content.decode()


def test_mail_page_shows_the_subject_while_it_is_known(operator):
    boss = User.objects.get()
    Invitation.objects.invite(boss, "grace@example.com")
    OutgoingMail.objects.queue_notice(Notice("role_changed", boss.email, "sv", {"role": "admin"}))
    OutgoingMail.objects.create(kind="notice.of_a_later_release", email=boss.email, context={})
    OutgoingMail.objects.create(kind="later.link", email=boss.email, link_id=uuid4())
    for kind in ("role_changed", "reactivated"):
        notice = Notice(kind, boss.email, "de", {"by": "Ada"})
        OutgoingMail.objects.queue_notice(notice)
        sent = {"state": MailState.SENT, "sent_at": now(), "context": None}
        OutgoingMail.objects.filter(language="de", sent_at=None).update(**sent)

    pages = [
        operator.get(reverse("admin:mail_outgoingmail_change", args=[mail.pk])).content.decode()
        for mail in OutgoingMail.objects.all()
    ]

    assert [f"join {boss.account}" in page for page in pages].count(True) == 1
    assert ["Du är nu administratör" in page for page in pages].count(True) == 1
    assert ["Ihr Konto wurde wieder aktiviert" in page for page in pages].count(True) == 1
    assert not any("Admin-Rechte wurden entzogen" in page for page in pages)


def test_subjects_that_depend_on_the_context_are_known():
    contexts = [{}, {"role": "admin", "factor": "totp", "change": "on", "name": "Ada"}]
    notices = {path.stem for path in Path("templates/emails").glob("*.txt")} - {
        link.mail_name for link in EmailedLink.models_by_label().values()
    }
    subjects = {
        kind: {compose_subject(Notice(kind, "", "en"), context) for context in contexts}
        for kind in notices
    }

    assert {kind for kind in notices if len(subjects[kind]) > 1} == SUBJECT_NEEDS_CONTEXT


def test_company_page_lists_everybody(operator):
    boss, change = User.objects.get(), "admin:accounts_account_change"
    company = Account.objects.create(name="Analytical Engines")
    for number in range(12):
        User.objects.create_user(f"user{number}@example.com", account=company)
        Invitation.objects.invite(boss, f"invited{number}@example.com")

    page = operator.get(reverse(change, args=[company.pk])).content.decode()
    own = operator.get(reverse(change, args=[boss.account_id]))

    assert all(f"user{number}@example.com" in page for number in range(12))
    assert all(f"invited{number}@example.com" in own.content.decode() for number in range(12))
    assert "12 in total" in own.content.decode()
