"""Request bodies of the calls that change an e-mail address."""

from accounts.fields import EmailField
from base.openapi import example
from signin.factors.serializers import ProofSerializer
from signin.serializers import ADA


@example({"email": "ada@example.net", "password": ADA["password"]})
class EmailChangeSerializer(ProofSerializer):
    email = EmailField()
