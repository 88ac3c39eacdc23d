"""Query strings of the admin site: lists can be filtered by offered columns only, and odd values
are never answered with 500."""

from pathlib import Path
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import SuspiciousOperation
from django.test import RequestFactory
from django.utils.timezone import now

from accounts.models import Account, User
from audit.models import AuditEvent
from invitations.models import Invitation
from mail.links import EmailedLink
from mail.message import compose_subject
from mail.notices import SUBJECT_NEEDS_CONTEXT, Notice
from mail.outbox import MailState, OutgoingMail
from signin.models import SignupLink
from tests.backoffice.helpers import list_of, page_of, text

pytestmark = pytest.mark.django_db

# Filters by model, beside Django's own parameters. Models that are not named have none.
OFFERED_FILTERS = {
    "invitations.Invitation": {"role__exact", "role__isnull"},
    "throttling.Lockout": {"locked"},
    "mail.OutgoingMail": {"state__exact", "state__isnull"},
    "audit.AuditEvent": {"kind__exact", "kind__isnull", "at__gte", "at__lt"},
    "accounts.User": {
        f"{name}__{lookup}" for name in ("is_active", "is_staff", "role")
        for lookup in ("exact", "isnull")
    },
    "sso.IdentityProvider": {
        f"{name}__{lookup}" for name in ("active", "required") for lookup in ("exact", "isnull")
    },
}  # fmt: skip
LOOKUPS = ["", "exact", "startswith", "isnull", "gte"]
CONTROLS = ["q", "p", "o", "e", "all", "_facets", "_popup"]
MODELS = pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model.__name__)


def columns_of(model):
    """The names of the model's columns, and of the columns of related models."""
    own_fields = model._meta.concrete_fields
    columns = {name for field in own_fields for name in (field.name, field.attname)}
    for relation in model._meta.get_fields():
        if relation.is_relation and relation.related_model:
            related_fields = relation.related_model._meta.concrete_fields
            columns |= {f"{relation.name}__{field.name}" for field in related_fields}
    return columns | {"pk"}


def is_allowed(model, user, query):
    request = RequestFactory().get(list_of(model), query)
    request.user = user
    try:
        admin.site.get_model_admin(model).get_changelist_instance(request)
    except SuspiciousOperation:
        return False
    except IncorrectLookupParameters:
        return True  # the column, but not this value
    return True


@MODELS
def test_lists_are_filtered_by_offered_columns_only(model, ada):
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    superuser = User.objects.get(pk=ada.pk)
    lookups = {
        f"{column}__{lookup}".removesuffix("__")
        for column in columns_of(model)
        for lookup in LOOKUPS
    }
    allowed_lookups = {lookup for lookup in lookups if is_allowed(model, superuser, {lookup: "1"})}

    assert allowed_lookups <= OFFERED_FILTERS.get(model._meta.label, set())


@MODELS
def test_offered_filters_are_answered(model, operator):
    for name in [*CONTROLS, *OFFERED_FILTERS.get(model._meta.label, set())]:
        answer = operator.get(list_of(model), {name: "1"}, follow=True)
        assert answer.status_code == 200, name
    assert operator.get(list_of(model), {"q": "two words"}).status_code == 200


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
def test_odd_filter_value_is_no_500(operator, status, model, query):
    answer = operator.get(f"{list_of(model)}?{query}", follow=True)

    assert answer.status_code == status
    assert answer["Content-Type"].startswith("text/html")


ODD_IDS = ["x", "\0", "", "-1", str(2**70), f"{uuid4()}0", "__all__", "x" * 300]


@MODELS
def test_odd_id_in_an_action_is_no_500(operator, rf, model):
    request = rf.get(list_of(model))
    request.user = User.objects.get(is_superuser=True)
    for action in admin.site.get_model_admin(model).get_actions(request):
        for odd_id in ODD_IDS:
            for extra in ({}, {"post": "yes"}, {"index": odd_id}, {"select_across": odd_id}):
                form = {"action": action, "_selected_action": [odd_id, str(uuid4())]} | extra
                assert operator.post(list_of(model), form).status_code in {200, 302, 400}


def test_odd_autocompletion_is_no_500(operator):
    fields = {
        (model, field.name) for model in apps.get_models() for field in model._meta.get_fields()
    }
    for model, name in fields:
        field_query = {"app_label": model._meta.app_label, "model_name": model._meta.model_name}
        field_query["field_name"] = name
        for query in ({}, {"term": "\0"}, {"page": "x"}, {"page": str(2**70)}):
            answer = operator.get("/admin/autocomplete/", field_query | query)
            assert answer.status_code in {200, 400, 403, 404}


def test_autocomplete_filters_by_no_column(operator, ada):
    field = {"app_label": "accounts", "model_name": "consultant", "field_name": "account"}
    url, query = "/admin/autocomplete/", field | {"term": "anal"}
    suggestions = text(operator, url, **query)

    assert ada.account.name in suggestions
    assert text(operator, url, **query, name__startswith="x") == suggestions


@pytest.mark.parametrize("model", [SignupLink, OutgoingMail])
def test_links_and_mails_are_found_by_any_part_of_the_address(model, operator):
    row = model(email="grace@hopper.example")
    if model is OutgoingMail:
        row.kind, row.problem = "signin.signuplink", "SMTPRecipientsRefused 550"
    row.save()

    assert row.email in text(operator, list_of(model), q="hopper")
    page = text(operator, page_of(row))
    assert row.email in page
    if model is OutgoingMail:
        for words in ("Sign-up link", "550", "/admin/accounts/user/?q=grace%40hopper.example"):
            assert words in page, words


def test_mail_page_shows_the_subject_until_its_context_is_deleted(operator):
    boss = User.objects.get()
    Invitation.objects.invite(boss, "grace@example.com")
    OutgoingMail.objects.queue_notice(Notice("role_changed", boss.email, "sv", {"role": "admin"}))
    OutgoingMail.objects.create(kind="notice.of_a_later_release", email=boss.email, context={})
    OutgoingMail.objects.create(kind="later.link", email=boss.email, link_id=uuid4())
    for kind in ("role_changed", "reactivated"):
        notice = Notice(kind, boss.email, "de", {"by": "Ada"})
        OutgoingMail.objects.queue_notice(notice)
        values = {"state": MailState.SENT, "sent_at": now(), "context": None}
        OutgoingMail.objects.filter(language="de", sent_at=None).update(**values)

    pages = [text(operator, page_of(mail)) for mail in OutgoingMail.objects.all()]

    assert [f"join {boss.account}" in page for page in pages].count(True) == 1
    assert ["Du är nu administratör" in page for page in pages].count(True) == 1
    assert ["Ihr Konto wurde wieder aktiviert" in page for page in pages].count(True) == 1
    assert not any("Admin-Rechte wurden entzogen" in page for page in pages)


def test_table_of_subjects_that_need_a_context_is_complete():
    contexts = [{}, {"role": "admin", "factor": "totp", "change": "on", "name": "Ada"}]
    notices = {path.stem for path in Path("templates/emails").glob("*.txt")} - {
        link.mail_name for link in EmailedLink.models_by_label().values()
    }
    subjects = {
        kind: {compose_subject(Notice(kind, "", "en"), context) for context in contexts}
        for kind in notices
    }

    assert {kind for kind in notices if len(subjects[kind]) > 1} == SUBJECT_NEEDS_CONTEXT


def test_company_page_lists_all_users_and_invitations(operator):
    boss = User.objects.get()
    company = Account.objects.create(name="Analytical Engines")
    for number in range(12):
        User.objects.create_user(f"user{number}@example.com", account=company)
        Invitation.objects.invite(boss, f"invited{number}@example.com")

    page, own_page = text(operator, page_of(company)), text(operator, page_of(boss.account))

    assert all(f"user{number}@example.com" in page for number in range(12))
    assert all(f"invited{number}@example.com" in own_page for number in range(12))
    assert "12 in total" in own_page
