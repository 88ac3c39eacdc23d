"""What the months' asserts compare is shown where they fail, in the helpers as well."""

import pytest

pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("people", "places", "post", "watch", "year"))
)
