"""Searches: the bounds of their text, and addresses in any spelling."""

import pytest

from base.emails import search_words
from tests.assistants.conftest import call_tool

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
        ("Lovelace, Ada <Ada@Example.com>; ,", "Lovelace Ada ada@example.com"),
        ('"Lovelace, Ada" <ada@example.com>', "Lovelace Ada ada@example.com"),
    ],
)
def test_search_text_is_cut_to_ten_words_and_a_hundred_characters(text, words):
    assert " ".join(search_words(text)) == words


@pytest.mark.parametrize("typed", ["Karl@Müller.de", "\u2060karl@\u2060xn--mller-kva\u2060.de"])
def test_search_finds_an_address_as_typed_and_as_copied_from_mails(
    as_ada, ada, new_user, operator, typed
):
    karl = new_user("karl@müller.de", account=ada.account)
    as_ada.post("/invitations", {"email": "new.karl@müller.de"})

    for path in ("/users", "/invitations"):
        items = as_ada.get(path, data={"search": typed}).json()["items"]
        assert [item["email"].endswith(karl.email) for item in items] == [True]
    assert call_tool(as_ada, "list_users", search=typed)["structuredContent"]["total"] == 1
    for path in ("/admin/", "/admin/accounts/user/", "/admin/invitations/invitation/"):
        assert karl.email in operator.get(path, {"q": typed}).content.decode()


@pytest.mark.parametrize("way", ["rest", "tool"])
@pytest.mark.parametrize(
    "text",
    ["ada " * 10 + "nobody-is-called-so " * 100, "ada" + " " * 97 + "nobody-is-called-so" * 100],
    ids=["words past the tenth", "characters past the hundredth"],
)
def test_search_ignores_text_past_its_bounds(as_ada, ada, text, way):
    if way == "rest":
        page = as_ada.get("/users", data={"search": text}).json()
    else:
        page = call_tool(as_ada, "list_users", search=text)["structuredContent"]

    assert [user["email"] for user in page["items"]] == [ada.email]
