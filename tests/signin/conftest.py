"""What somebody who completes a sign-up sends."""

from typing import Any

from tests.conftest import PASSWORD

PERSON: dict[str, Any] = {
    "account_name": "Difference Engines",
    "first_name": "Charles",
    "last_name": "Babbage",
    "password": PASSWORD,
}
