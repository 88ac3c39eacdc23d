"""The body that completes a sign-up, and a password in two spellings."""

import unicodedata

from tests.cast import PASSWORD

NFC = "pässwört geheim"  # as Safari sends it
NFD = unicodedata.normalize("NFD", NFC)  # as Firefox on macOS sends it

PERSON = {
    "account_name": "Difference Engines",
    "first_name": "Charles",
    "last_name": "Babbage",
    "password": PASSWORD,
}
