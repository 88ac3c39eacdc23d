"""Second factors on pages with plain forms: the consent page and the admin site's sign-in.

The first page takes address and password, the second one the code. Nothing is stored in between:
the second page sends both again, encrypted, and everything is checked at once.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from base.sealed import InvalidSeal, Seal
from signin.cookies import own_origin
from signin.factors.methods import FactorInput
from signin.factors.passkeys import request_options

FORM_SEAL = Seal("signin.form", seconds=300)


def passkey_options(request: HttpRequest | Request) -> str:
    """The browser's options to use a passkey, as JSON; "" if the request's host allows no
    passkeys."""
    here = own_origin(request) in settings.PASSKEYS_ORIGINS
    return json.dumps(request_options()) if here else ""


def second_page_context(
    request: HttpRequest | Request, email: str, password: str
) -> dict[str, str]:
    """The second page's context: `sealed`, and `passkey`, the options for its button."""
    return {"sealed": FORM_SEAL.seal([email, password]), "passkey": passkey_options(request)}


def unseal_credentials(text: str) -> tuple[str, str]:
    """Address and password from a page less than five minutes old; otherwise both ""."""
    try:
        email, password = FORM_SEAL.unseal(text)
    except InvalidSeal:
        return "", ""
    return email, password


def factor_from_form(form: Mapping[str, Any]) -> FactorInput:
    """The code or passkey in the second page's form. A passkey that is not JSON counts as none."""
    try:
        passkey = json.loads(form.get("passkey") or "null")
    except (ValueError, RecursionError):
        passkey = None
    return FactorInput(str(form.get("code", ""))[:64], passkey)
