"""What the invited person sends, and the calls about an invitation."""

from invitations.models import Invitation
from tests.cast import PASSWORD

PERSON = {"first_name": "Charles", "last_name": "Babbage", "password": PASSWORD}


def accept(api, invitation, headers=None, **changes):
    """Accept with the link as it stands in the database now."""
    body = PERSON | {"token": Invitation.objects.get(pk=invitation.pk).token} | changes
    return api.post("/invitations/accept", body, headers=headers or {})


def resend(api, invitation):
    return api.post(f"/invitations/{invitation.pk}/resend")


def revoke(api, invitation):
    return api.delete(f"/invitations/{invitation.pk}")
