"""docs/configuration.md names every setting once, with the values and default of the code."""

from tests.config.settings_table import PAGE, declared, filled


def test_every_setting_is_in_the_page_once():
    assert sorted(filled(PAGE.read_text("utf-8"))[1]) == sorted(declared())


def test_page_says_what_the_code_says():
    page = PAGE.read_text("utf-8")

    assert filled(page)[0] == page, "run `make settings`"
