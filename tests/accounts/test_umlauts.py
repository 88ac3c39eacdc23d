"""Names with letters beyond ASCII are found and sorted, on PostgreSQL and on SQLite."""

import json

import pytest

from tests.clients import bearer
from tests.services import run_python

SORTED = ["Åberg", "Ärlig", "da Costa", "Ek", "Müller", "Öberg", "von Thal", "Zorn", "स्मिथ"]
SEARCHES = {"ärlig": ["Ärlig"], "ÅBERG": ["Åberg"], "100%": [], "p_": [], "VON": ["von Thal"]}
SEARCHES |= {"muller": ["Müller"], "Mu\u0308ller": ["Müller"], "öberg": ["Öberg"], "स्मि": ["स्मिथ"]}
SEARCHES |= {"müll thäl": [], "thäl von": ["von Thal"]}
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


@pytest.mark.live
def test_sqlite_searches_and_sorts_names(tmp_path):
    output = run_python(PROGRAM, DATABASE_URL=f"sqlite:///{tmp_path}/db.sqlite3")

    assert json.loads(output) == [SEARCHES, SORTED, SORTED[::-1]]
