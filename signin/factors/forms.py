"""Second factors in plain HTML forms: the consent page's and the admin site's sign-in.

The first page asks for address and password, the second one for the factor. Nothing is stored in
between: the second page sends address and password again, encrypted.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from base.sealed import InvalidSeal, Seal
from signin.cookies import own_origin
from signin.factors.passkeys import request_options

FORM_SEAL = Seal("signin.form", seconds=300)


def passkey_options(request: HttpRequest | Request) -> str:
    """PublicKeyCredentialRequestOptionsJSON; "" if passkeys don't work on the request's host."""
    allows_passkeys = own_origin(request) in settings.PASSKEYS_ORIGINS
    return json.dumps(request_options()) if allows_passkeys else ""


def second_page_context(
    request: HttpRequest | Request, email: str, password: str
) -> dict[str, str]:
    """The second page's context: `sealed`, the address and password, encrypted for five minutes,
    and `passkey`, the `passkey_options`."""
    return {"sealed": FORM_SEAL.seal([email, password]), "passkey": passkey_options(request)}


def unseal_credentials(sealed: str) -> tuple[str, str]:
    """The address and password that `second_page_context` has sealed; two empty texts if it did so
    over five minutes ago, and for any other text."""
    try:
        email, password = FORM_SEAL.unseal(sealed)
    except InvalidSeal:
        return "", ""
    return email, password


def factor_from_form(form: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments `code` and `passkey` of `check_credentials` from a form's fields of these
    names: the first 64 characters of the code, and the passkey's answer, parsed from JSON, or None
    if it is missing or no JSON."""
    try:
        passkey = json.loads(form.get("passkey") or "null")
    except (ValueError, RecursionError):
        passkey = None
    return {"code": str(form.get("code", ""))[:64], "passkey": passkey}
