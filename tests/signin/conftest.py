"""What somebody who completes a sign-up sends."""

from tests.conftest import PASSWORD

PERSON = {
    "account_name": "Difference Engines",
    "first_name": "Charles",
    "last_name": "Babbage",
    "password": PASSWORD,
}
