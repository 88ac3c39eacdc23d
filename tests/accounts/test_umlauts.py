"""Names with letters beyond ASCII are found and sorted, on PostgreSQL and on SQLite."""

import json

import pytest

from tests.clients import bearer
from tests.services import run_python

SORTED = ["Åberg", "Ärlig", "da Costa", "Ek", "Müller", "Öberg", "von Thal", "Zorn", "स्मिथ"]
SEARCHES = {"ärlig": ["Ärlig"], "ÅBERG": ["Åberg"], "100%": [], "p_": [], "VON": ["von Thal"]}
SEARCHES |= {"muller": ["Müller"], "Mu\u0308ller": ["Müller"], "öberg": ["Öberg"], "स्मि": ["स्मिथ"]}
SEARCHES |= {"müll thäl": [], "thäl von": ["von Thal"]}
# As they are written, in other cases, and as people type them without these letters.
ALPHABETS = {
    "\u0141ukasz": ["\u0141UKASZ", "Lukasz", "lukasz"],
    "S\u00f8rensen": ["S\u00d8RENSEN", "sorensen"],
    "I\u015f\u0131k": ["i\u015f\u0131k", "\u0131\u015f\u0131k", "I\u015eIK", "isik"],
    "\u0130zmirli": ["\u0130ZM\u0130RL\u0130", "izmirli"],
    "Strau\u00df": ["STRAUSS", "STRAU\u1e9e", "strauss"],
    "\u0110or\u0111evi\u0107": ["Dordevic"],
    "O\u2019Brien-Smith": ["O'Brien", "o\u2018brien", "Brien\u2011Smith"],
    "\u00c6gir \u00de\u00f3r": ["aegir", "thor"],
    "\u0393\u0399\u03a9\u03a1\u0393\u039f\u03a3": ["\u0393\u03b9\u03ce\u03c1\u03b3\u03bf\u03c2"],
    "\u0623\u062d\u0645\u062f": ["\u0627\u062d\u0645\u062f"],  # Ahmad without the hamza
    # Alireza with an invisible joiner, and with the yeh of another keyboard
    "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627": ["\u0639\u0644\u064a\u0631\u0636\u0627"],
    "\u0418\u0432\u0430\u043d\u043e\u0432": ["\u0418\u0412\u0410\u041d\u041e\u0412"],
}
FOUND_NAMES = {text: [name] for name, texts in ALPHABETS.items() for text in texts}
PROGRAM = f"""
import json, django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from accounts.models import Account, User
from accounts.models.users import ORDERS
account = Account.objects.create(name="A")
for number, name in enumerate({SORTED[::-1]}):
    User.objects.create(account=account, email=f"p{{number}}@example.com", last_name=name)
def names(users):
    return [user.last_name for user in users]
matches = {{text: names(User.objects.search(text)) for text in {[*SEARCHES]}}}
orders = [names(User.objects.order_by(*ORDERS[order])) for order in ("name", "-name")]
for number, name in enumerate({[*ALPHABETS]}):
    User.objects.create(account=account, email=f"n{{number}}@example.com", last_name=name)
matches |= {{text: names(User.objects.search(text)) for text in {[*FOUND_NAMES]}}}
print(json.dumps([matches, *orders]))
"""


@pytest.mark.django_db
def test_postgresql_searches_and_sorts_names(ada, new_user):
    for last_name in SORTED[::-1]:
        new_user(last_name=last_name, account=ada.account)
    ada.last_name = "Åa"
    ada.save()

    def names(**query):
        items = bearer(ada).get("/users", data=query).json()["items"]
        return [item["last_name"] for item in items]

    assert {text: names(search=text) for text in SEARCHES} == SEARCHES
    assert names() == ["Åa", *SORTED]
    assert names(sort="-name") == [*SORTED[::-1], "Åa"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ALPHABETS)
def test_postgresql_finds_names_of_other_alphabets(ada, new_user, name):
    new_user(last_name=name, account=ada.account)

    for text in [name, *ALPHABETS[name]]:
        items = bearer(ada).get("/users", data={"search": text}).json()["items"]
        assert [item["last_name"] for item in items] == [name], text


@pytest.mark.live
def test_sqlite_searches_and_sorts_names(tmp_path):
    output = run_python(PROGRAM, DATABASE_URL=f"sqlite:///{tmp_path}/db.sqlite3")

    assert json.loads(output) == [SEARCHES | FOUND_NAMES, SORTED, SORTED[::-1]]
