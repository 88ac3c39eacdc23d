"""A year of two hosts, month by month: what it brings, and that everything holds at its end."""

import pytest

from tests.year.people import Person
from tests.year.year import Year

pytestmark = pytest.mark.year


def test_january_begins_with_what_the_first_release_left(year: Year) -> None:
    year.people += [Person(year, "ada@example.com"), Person(year, "bob@example.com")]
    year.post.expect("new@example.com", "Registrierung abschließen")
    for person in year.people:
        person.log_in()
    year.newcomers(1)
    year.until(1, 10)
    year.places.rotate()
    year.places.copy_keys()
    year.until(1, 31)
    with year.watched() as hour:
        hour.minutes(60, year.people[-1].comes)
    year.month_ends()
