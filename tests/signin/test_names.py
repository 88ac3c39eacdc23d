"""Names that are invisible, contain links or look like the operators' are refused everywhere."""

import pytest
from django.core import mail
from django.core.management import CommandError, call_command

from accounts.models import Account, Consultant, User
from invitations.models import Invitation
from tests.mailbox import mailed
from tests.signin.factors.helpers import begin_app, begin_passkey
from tests.signin.helpers import PERSON

pytestmark = pytest.mark.django_db
REFUSED = ["Names can't contain links."]


@pytest.mark.parametrize("model", ["account", "user", "consultant"])
def test_admin_site_refuses_links_in_names(operator, ada, model):
    path = f"/admin/accounts/{model}/" + (f"{ada.pk}/change/" if model == "user" else "add/")
    field = "first_name" if model == "user" else "name"
    answer = operator.post(path, {field: "See www.evil.test", "account": ada.account_id})

    assert answer.context["adminform"].form.errors[field] == REFUSED
    assert not Account.objects.filter(name__contains="www").exists()


def test_dots_and_colons_are_no_links(as_ada):
    assert as_ada.patch("/auth/me", {"first_name": "J. R. R.: x.y"}).status_code == 200


# Names with links, invisible ones, and such as reverse the text after them, with the answer's code
UNUSABLE = [("Win at https://evil.test", "link"), ("WWW.evil.test", "link"), ("ftp://x", "link")]
UNUSABLE += [("\uff57\uff57\uff57.evil.test", "link")]
UNUSABLE += [("\u200b", "invisible"), ("\u3164", "invisible"), ("\uffa0", "invisible")]
UNUSABLE += [(text, "invisible") for text in ("\u115f\u2800", "\u00ad", "\u034f", "\u0301", "...")]
UNUSABLE += [(f"Ada{control}", "direction") for control in "\u202e\u2066\u200f\u061c"]
USABLE = [
    "Zoë",
    "株式会社",
    "محمد",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "7",
    "नि",
    "O'Hara-Łuk",
    "Ada \U0001f98a",
]


@pytest.mark.parametrize(("name", "code"), UNUSABLE)
def test_unusable_names_are_refused_by_every_call(api, as_ada, ada, signup_link, name, code):
    invitation = Invitation.objects.invite(ada, "carl@example.com")
    people = [
        (api, "/auth/complete-signup", PERSON | {"token": signup_link.token}),
        (api, "/invitations/accept", PERSON | {"token": invitation.token}),
    ]
    answers = [
        (field, caller.post(path, body | {field: name}))
        for caller, path, body in people
        for field in ("first_name", "last_name")
    ]
    company = PERSON | {"token": signup_link.token, "account_name": name}
    answers.append(("account_name", api.post("/auth/complete-signup", company)))
    for field in ("first_name", "last_name"):
        answers.append((field, as_ada.patch("/auth/me", {field: name})))
    answers.append(("name", as_ada.patch("/account", {"name": name})))
    passkey, (_, app) = begin_passkey(as_ada), begin_app(as_ada)
    answers.append(("name", as_ada.post("/auth/factors/passkeys", passkey | {"name": name})))
    answers.append(("name", as_ada.post("/auth/factors/totp/confirm", app | {"name": name})))
    answers.append(("name", as_ada.patch(f"/auth/factors/{ada.pk}", {"name": name})))

    for field, answer in answers:
        assert (answer.status_code, answer.json().get("codes")) == (400, {field: [code]})
        if code == "link":
            assert answer.json()["fields"] == {field: REFUSED}
    with pytest.raises(CommandError):
        call_command("createcompany", name, "new@example.com")


@pytest.mark.parametrize("name", USABLE)
def test_names_of_all_scripts_are_accepted(as_ada, name):
    assert as_ada.patch("/auth/me", {"first_name": name, "last_name": name}).status_code == 200
    assert as_ada.patch("/account", {"name": name}).json()["name"] == name


OPERATORS = [
    "Operators",
    " OPERATORS ",
    "Operators\u200b",
    "Oper\u2060ators",
    "Operators\u3164",
    "\uff2f\uff50\uff45\uff52\uff41\uff54\uff4f\uff52\uff53",  # full-width
    "\U0001d40eperators",  # a mathematical letter
    "\u041e\u0440\u0435rat\u043ers",  # Cyrillic
    "\u041eP\u0415R\u0410\u0422\u041eR\u0405",
    "\u039f\u03a1\u0395R\u0391\u03a4\u039fRS",  # Greek
    "Óperators",
    "0perat0rs",
    "O-p-e-r-a-t-o-r-s",
    "\u1d0f\u1d18\u1d07\u0280\u1d00\u1d1b\u1d0f\u0280\ua731",  # small capitals
]


@pytest.mark.parametrize("name", OPERATORS)
def test_reserved_name_is_refused_in_every_form(api, as_ada, signup_link, operator, name):
    company = PERSON | {"token": signup_link.token, "account_name": name}
    answers = [("account_name", api.post("/auth/complete-signup", company))]
    answers.append(("name", as_ada.patch("/account", {"name": name})))

    for field, answer in answers:
        assert (answer.status_code, answer.json()["codes"]) == (400, {field: ["reserved"]})
    with pytest.raises(CommandError):
        call_command("createcompany", name, "new@example.com")
    form = operator.post("/admin/accounts/account/add/", {"name": name}).context["adminform"].form
    assert form.errors["name"] == ["This name is taken by the operators."]


@pytest.mark.parametrize("name", ["Operators Ltd", "Opera Tours", "Smooth Operator"])
def test_names_that_are_only_similar_are_accepted(as_ada, name):
    assert as_ada.patch("/account", {"name": name}).status_code == 200


def test_stored_names_that_are_now_refused_stay_usable(api, as_ada, ada, operator):
    """Names that earlier releases took, which nobody can see."""
    Account.objects.filter(pk=ada.account_id).update(name="\u3164")
    User.objects.filter(pk=ada.pk).update(first_name="\u200b", last_name="-")
    consultant = Consultant.objects.create(account=ada.account, name="\u2800")

    assert as_ada.patch("/auth/me", {"settings": {"language": "sv"}}).status_code == 200
    assert as_ada.patch("/account", {"second_factor": "optional"}).status_code == 200
    page = f"/admin/accounts/user/{ada.pk}/change/"
    person = {"first_name": "\u200b", "last_name": "-", "language": "de"}
    assert operator.post(page, person).status_code == 302
    assert User.objects.get(pk=ada.pk).language == "de"
    profile = {"name": "\u2800", "initial-name": "\u2800", "user": str(ada.pk)}
    page = f"/admin/accounts/consultant/{consultant.pk}/change/"
    assert operator.post(page, profile).status_code == 302
    assert Consultant.objects.get().user == ada
    assert operator.post(page, profile | {"name": "\u200b"}).status_code == 200
    assert as_ada.post("/invitations", {"email": "carl@example.com"}).status_code == 201
    mailed()
    assert "carl@example.com" in mail.outbox[-1].to
