"""GET /pages/company: the name that the pages' header shows."""


def test_member_reads_the_companys_name(as_bob):
    response = as_bob.get("/pages/company")

    assert response.json() == {"name": "Analytical Engines"}
    assert response["Cache-Control"] == "no-store"


def test_stranger_does_not(api):
    assert api.get("/pages/company").status_code == 401
