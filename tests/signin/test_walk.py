"""From sign-up to sign-out, as a company's first user walks it."""

import pytest

from tests.conftest import PASSWORD, mailed_token

pytestmark = pytest.mark.django_db(transaction=True)


def test_whole_walk(api):
    assert api.post("/auth/signup", {"email": "Ada@Example.com"}).status_code == 200
    person = {"account_name": "Engines", "first_name": "Ada", "last_name": "L"}
    completed = api.post(
        "/auth/complete-signup", person | {"token": mailed_token(), "password": PASSWORD}
    )
    assert completed.status_code == 200, completed.content
    login = api.post("/auth/login", {"email": "ada@example.com", "password": PASSWORD})
    assert login.status_code == 200
    refreshed = api.post("/auth/refresh")
    bearer = {"authorization": f"Bearer {refreshed.json()['access_token']}"}
    me = api.get("/auth/me", headers=bearer)
    assert me.json() == login.json()["user"]

    out = api.post("/auth/logout", headers=bearer)

    assert out.status_code == 204
    assert api.post("/auth/refresh").status_code == 401
