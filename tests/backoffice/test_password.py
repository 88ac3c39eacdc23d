"""Operators change their passwords as everybody does, by a mailed link."""

import pytest

from tests.backoffice.helpers import staff_with

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["password_change/", "password_change/done/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_password_forms_of_django_are_404(operator, path, method):
    assert getattr(operator, method)(f"/admin/{path}").status_code == 404


def test_header_links_to_the_mailed_password_change(bob):
    page = staff_with(bob).get("/admin/").content.decode()

    assert '/forgot-password">Change password</a>' in page
    assert "password_change/" not in page
