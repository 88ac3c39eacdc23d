"""What an address may ask of the admin's lists: what they offer, and no other field's value."""

import string

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import Account, Consultant, User
from assistants.models import Client as Assistant
from assistants.models import Grant
from audit.models import Record
from backoffice.lookups import GuardedAdmin
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.models import SignupLink, UnlockLink
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

# All that the lists of the service take, beside Django's own parameters. A new one stands here.
OFFERED = {
    Account: set(),
    Consultant: set(),
    Grant: {"status"},
    Group: set(),
    Assistant: set(),
    Invitation: {"status", "role__exact", "role__isnull"},
    Lockout: {"locked"},
    OutgoingMail: {"state__exact", "state__isnull", "kind"},
    PasswordChange: {"status"},
    Record: {"kind__exact", "kind__isnull", "day"},
    EmailChange: set(),
    UndoEmailChange: set(),
    SignupLink: set(),
    UnlockLink: set(),
    User: {f"{name}__{look}" for name in ("is_active", "is_staff", "role")
           for look in ("exact", "isnull")},
}  # fmt: skip
LOOKS = ["", "exact", "iexact", "contains", "startswith", "istartswith", "endswith", "regex"]
LOOKS += ["iregex", "in", "gt", "lt", "gte", "lte", "range", "isnull", "year", "date"]
CONTROLS = ["q", "p", "o", "e", "all", "_facets", "_popup"]


def lists(model):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def spans(model):
    """Every column, and every column of each model that is related to it, either way."""
    here = model._meta.concrete_fields
    columns = {name for field in here for name in (field.name, field.attname)}
    for relation in model._meta.get_fields():
        if relation.is_relation and relation.related_model:
            there = relation.related_model._meta.concrete_fields
            columns |= {f"{relation.name}__{field.name}" for field in there}
    return columns | {"pk"}


def looked_up(model, user, query):
    """Whether the list answers the query, rather than refuse it."""
    request = RequestFactory().get(lists(model), query)
    request.user = user
    try:
        admin.site.get_model_admin(model).get_changelist_instance(request)
    except (BadRequest, SuspiciousOperation):
        return False
    return True


def staff_with(user, *permissions):
    """A browser in which the user, as one of the staff, has these permissions alone."""
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(User.objects.get(pk=user.pk))
    return client


def test_every_list_stands_in_the_table():
    assert set(admin.site._registry) == set(OFFERED)
    assert all(isinstance(one, GuardedAdmin) for one in admin.site._registry.values())


@pytest.mark.parametrize("model", OFFERED, ids=lambda model: model.__name__)
def test_no_field_is_looked_up_that_no_list_offers(model, ada):
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    root = User.objects.get(pk=ada.pk)
    asked = {f"{span}__{look}".removesuffix("__") for span in spans(model) for look in LOOKS}
    got_through = {lookup for lookup in asked if looked_up(model, root, {lookup: "1"})}

    assert len(asked) > 50
    assert got_through - OFFERED[model] == set()


@pytest.mark.parametrize("model", OFFERED, ids=lambda model: model.__name__)
def test_what_is_offered_is_looked_up(model, operator):
    for name in CONTROLS:
        assert operator.get(lists(model), {name: "1"}).status_code == 200, name
    for name in OFFERED[model] - {"day"}:
        assert operator.get(lists(model), {name: "1"}).status_code == 200, name


def test_columns_and_spans_are_walked():
    assert {"password", "account_id", "account__name", "passwordchange__email"} <= spans(User)
    assert {"users__password", "name"} <= spans(Account)
    assert "user__password" in spans(Consultant)


def test_permission_to_look_at_users_tells_no_hash(bob, operator):
    root = User.objects.get(email="op@example.com")
    clerk = staff_with(bob, "view_user")
    known = "argon2$"
    guesses = [known + character for character in string.hexdigits]
    answers = [
        clerk.get(lists(User), {"email__exact": root.email, f"password__{look}": guess})
        for look in ("startswith", "regex")
        for guess in [known, *guesses]
    ]

    assert {answer.status_code for answer in answers} == {400}
    assert len({answer.content for answer in answers}) == 1
    assert clerk.get(lists(User), {"q": root.email}).status_code == 200


def test_refusal_is_a_page(operator):
    answer = operator.get(lists(User), {"password__startswith": "argon2$"})

    assert answer.status_code == 400
    assert answer["Content-Type"].startswith("text/html")
    assert b"Bad Request (400)" in answer.content


@pytest.mark.parametrize("way", ["get", "post"])
@pytest.mark.parametrize("lookup", ["password__regex", "groups__name", "nonsense", "id__in"])
def test_refused_whatever_the_method(operator, lookup, way):
    answer = getattr(operator, way)(f"{lists(User)}?{lookup}=x")

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("model", "query"),
    [
        (Record, "day=9999-12-31"),
        (Record, "day=yesterday"),
        (Record, "day=%00"),
        (Record, "kind__exact=%00"),
        (Record, "kind__exact=login.failed&kind__exact=x%00"),
        (Record, "q=%00"),
        (User, "is_active__exact=perhaps"),
        (User, "role__exact=admin%00"),
        (OutgoingMail, "kind=%00"),
        (OutgoingMail, "state__exact=%00"),
        (User, "_to_field=password"),
        (User, "_to_field=account"),
        (User, "_to_field=%00"),
        (User, "_popup=1&_to_field=email"),
    ],
)
def test_what_no_look_up_can_read_is_a_400(operator, model, query):
    answer = operator.get(f"{lists(model)}?{query}")

    assert answer.status_code == 400
    assert answer["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("key", ["x%00", "%00", "x", "", "1" * 400, "é"])
@pytest.mark.parametrize("model", [User, Record, Lockout, Invitation, Grant, OutgoingMail, Group])
def test_chosen_row_that_is_no_row(operator, model, key):
    actions = [*admin.site.get_model_admin(model).actions, "delete_selected"]
    for name in actions:
        chosen = f"action={name}&_selected_action={key}&index=0"
        form = {"content_type": "application/x-www-form-urlencoded"}
        answer = operator.post(lists(model), chosen, **form)

        assert answer.status_code == 400, name


@pytest.mark.parametrize("key", ["x", "\0", "1" * 400, "\u00e9"])
@pytest.mark.parametrize("model", OFFERED, ids=lambda model: model.__name__)
def test_form_that_chooses_no_row(operator, model, key):
    for name in admin.site.get_model_admin(model).autocomplete_fields:
        answer = operator.post(f"{lists(model)}add/", {name: key})

        assert answer.status_code == 400, name


@pytest.mark.parametrize("model", OFFERED, ids=lambda model: model.__name__)
@pytest.mark.parametrize("key", ["x%00", "x", "9" * 400, "_5F"])
def test_path_to_no_row_leads_to_the_index(operator, model, key):
    for page in ("change", "history", "delete"):
        answer = operator.get(f"{lists(model)}{key}/{page}/")

        assert answer.status_code in {302, 403}, page


@pytest.mark.parametrize("model", OFFERED, ids=lambda model: model.__name__)
def test_form_takes_nothing_from_its_address(operator, model):
    for value in ("x", "%00", "1"):
        query = "&".join(f"{field.name}={value}" for field in model._meta.fields)
        answer = operator.get(f"{lists(model)}add/?{query}", follow=True)

        assert answer.status_code in {200, 403}


@pytest.mark.parametrize("key", ["x", "%00", "x%00", "9" * 400])
@pytest.mark.parametrize("model", [User, Group, Record])
def test_no_row_is_viewed_on_a_site(operator, model, key):
    number = ContentType.objects.get_for_model(model).pk

    assert operator.get(f"/admin/r/{number}/{key}/").status_code == 404


def test_order_of_everything(operator, ada):
    order = ".".join(["1", "-2", "99", "x", "-"] * 700)

    assert operator.get(lists(User), {"o": order}).status_code == 200


AUTOCOMPLETE = "/admin/autocomplete/?app_label={}&model_name={}&field_name={}&term={}"


@pytest.mark.parametrize("source", ["invitations/invitation/account", "accounts/user/account"])
@pytest.mark.parametrize("term", ["%00", "x", "'", '"', "x+" * 1900])
def test_autocomplete_answers_any_term(operator, source, term):
    assert operator.get(AUTOCOMPLETE.format(*source.split("/"), term)).status_code == 200


def test_autocomplete_looks_nothing_up(operator, ada):
    url = AUTOCOMPLETE.format("accounts", "consultant", "user", "ada")
    plain = operator.get(url)

    assert ada.email in plain.content.decode()
    assert operator.get(f"{url}&password__startswith=x").content == plain.content


@pytest.mark.parametrize("field", ["password", "email", "nonsense", "%00"])
def test_autocomplete_refers_by_no_other_field(operator, field):
    assert operator.get(AUTOCOMPLETE.format("accounts", "user", field, "a")).status_code == 403
