"""docs/configuration.md names every setting once, with the values and default of the code."""

from tests.config.settings_table import PAGE, declared, filled


def test_page_has_every_setting_once_as_the_code_says():
    page = PAGE.read_text("utf-8")
    expected, names = filled(page)

    assert sorted(names) == sorted(declared())
    assert expected == page, "run `make settings`"
