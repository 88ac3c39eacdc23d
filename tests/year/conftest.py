"""One year for all of its months, which come one after the other: run them in whole (`-x`)."""

import pytest

from tests import servers
from tests.year.year import Year


@pytest.fixture(scope="package")
def year(tmp_path_factory):
    year = Year(tmp_path_factory.mktemp("year"), servers.FOLDER)
    try:
        year.places.set_up()
        yield year
    finally:
        year.places.stop()
