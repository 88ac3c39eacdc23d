"""What several tests of factors share."""

import jwt


def amr_of(body):
    """What both tokens say of how somebody signed in."""
    tokens = (body["access_token"], body["refresh_token"])
    return [jwt.decode(one, options={"verify_signature": False})["amr"] for one in tokens]
