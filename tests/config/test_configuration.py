"""docs/configuration.md names every setting once, with the values and default of the code."""

from tests.config.settings_table import PAGE, declared, filled
from tests.tables import compare


def test_page_has_every_setting_once_as_the_code_says():
    page = PAGE.read_text("utf-8")
    expected, names = filled(page)

    advice = "add the setting's row and meaning to docs/configuration.md, then run `make settings`"
    compare(set(names), set(declared()), advice)
    assert len(names) == len(set(names)), "docs/configuration.md has a setting twice"
    assert expected == page, "docs/configuration.md differs from the code: run `make settings`"
