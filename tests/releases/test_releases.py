"""What earlier releases have left behind: their migrations stay as they were, and a database that
one of them made is migrated and goes on with what its people hold."""

import hashlib
import json
from pathlib import Path

import httpx
import pytest

from tests.releases.conftest import HERE
from tests.releases.fill import PASSWORD

# SHA-256 of each released migration. A release adds its own; none is ever changed.
RELEASED = json.loads((HERE / "migrations.json").read_text("utf-8"))


@pytest.mark.parametrize("path", RELEASED)
def test_released_migration_stays_as_it_was(path):
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == RELEASED[path]


def test_people_of_an_older_release_go_on(old):
    service, held = old
    new = {"first_name": "G", "last_name": "H", "password": PASSWORD}
    grant = {"grant_type": "refresh_token", "refresh_token": held["grant"]}

    with httpx.Client(base_url=service.url) as http:
        ada = {"email": "ada@example.com", "password": PASSWORD}
        signed_in = http.post("/auth/login", json=ada)
        bearer = {"Authorization": f"Bearer {signed_in.json()['access_token']}"}
        answers = {
            "log-in": signed_in,
            "identity": http.get("/auth/me", headers=bearer),
            "people": http.get("/users", headers=bearer),
            "lock": http.post("/auth/login", json=ada | {"email": "locked@example.com"}),
            "sign-up": http.post(
                "/auth/complete-signup",
                json=new | {"token": held["signup"], "account_name": "Difference Engines"},
            ),
            "invitation": http.post(
                "/invitations/accept", json=new | {"token": held["invitation"]}
            ),
            "password": http.post(
                "/password-changes/redeem",
                json={"token": held["password change"], "password": "laws of thought"},
            ),
            "grant": http.post("/oauth/token", data=grant | {"client_id": held["client"]}),
        }
    service.manage("sendmail", "--once")

    expected = dict.fromkeys(answers, 200) | {"lock": 429}
    assert {name: answer.status_code for name, answer in answers.items()} == expected
    assert answers["people"].json()["total"] == 3
    mails = [path.read_text() for path in (service.folder / "mails").iterdir()]
    assert any("To: new@example.com" in mail for mail in mails)
