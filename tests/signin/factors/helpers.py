"""Helpers for tests of second factors."""

import jwt


def amr_of(body):
    """What both tokens say of how somebody signed in."""
    tokens = (body["access_token"], body["refresh_token"])
    return [jwt.decode(token, options={"verify_signature": False})["amr"] for token in tokens]
