"""How much of what somebody looks for is looked for: ten words of a hundred characters."""

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User, shorten_search
from tests.assistants.conftest import use

pytestmark = pytest.mark.django_db
MANY = " ".join(f"w{number}" for number in range(1900))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("  ada \t lovelace\n", "ada lovelace"),
        ("a\0b", "a b"),
        ("x" * 5000, "x" * 100),
        (MANY, "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9"),
        ("é" * 99 + " next", "é" * 99),
    ],
)
def test_text_is_cut(text, words):
    assert shorten_search(text) == words


def words_sought(client, path, **query):
    """Which of the words w0, w1 … stand in the statements that the request comes to."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path, query).status_code == 200
    said = " ".join(query["sql"].lower() for query in queries)
    return {f"w{number}" for number in range(1900) if f"w{number}%" in said}


SEARCHED = [model for model, one in admin.site._registry.items() if one.search_fields]


@pytest.mark.parametrize("model", SEARCHED, ids=lambda model: model.__name__)
def test_every_list_of_the_back_office_seeks_ten_words(operator, model):
    path = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")

    assert len(words_sought(operator, path, q=MANY)) == 10


def test_search_on_the_index_seeks_ten_words(operator):
    assert len(words_sought(operator, "/admin/", q=MANY)) == 10


def test_what_a_form_completes_seeks_ten_words(operator):
    field = {"app_label": "accounts", "model_name": "consultant", "field_name": "user"}

    assert len(words_sought(operator, "/admin/autocomplete/", term=MANY, **field)) == 10


@pytest.mark.parametrize("way", ["rest", "tool"])
def test_words_past_the_tenth_find_no_less(as_ada, ada, way):
    text = "ada " * 10 + "nobody-is-called-so " * 100
    if way == "rest":
        found = as_ada.get("/users", data={"search": text}).json()
    else:
        found = use(as_ada, "list_users", search=text)["structuredContent"]

    assert [user["email"] for user in found["items"]] == [ada.email]


def test_search_for_an_invitation_is_cut_at_a_hundred_characters(as_ada):
    as_ada.post("/invitations", {"email": "dan@example.com"})

    found = as_ada.get("/invitations", data={"search": "dan".ljust(100) + "nobody"}).json()

    assert [invitation["email"] for invitation in found["items"]] == ["dan@example.com"]


@pytest.mark.parametrize("way", ["rest", "tool"])
def test_characters_past_the_hundredth_find_no_less(as_ada, ada, way):
    text = "ada" + " " * 97 + "nobody-is-called-so" * 100
    if way == "rest":
        found = as_ada.get("/users", data={"search": text}).json()
    else:
        found = use(as_ada, "list_users", search=text)["structuredContent"]

    assert [user["email"] for user in found["items"]] == [ada.email]


def test_everybody_is_sought_by_ten_words(ada):
    with CaptureQueriesContext(connection) as queries:
        list(User.objects.search(MANY))

    assert queries[0]["sql"].count("LIKE") == 30  # in three columns
