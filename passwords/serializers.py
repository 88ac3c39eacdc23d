"""The request body of a password change by link."""

from accounts.fields import NewPasswordField, TextField
from base.openapi import example
from signin.factors.serializers import ProofFields
from signin.serializers import ADA, LINK


@example({"token": LINK, "password": ADA["password"]})
class RedeemSerializer(ProofFields):
    token = TextField(max_length=512)
    password = NewPasswordField()
