"""What a person who changes an e-mail address may send."""

from rest_framework import serializers

from accounts.fields import EmailField, TextField
from signin.factors.serializers import ProofSerializer
from signin.serializers import ADA, LINK
from throttling.openapi import example


@example({"email": "ada@example.net", "password": ADA["password"]})
class EmailChangeSerializer(ProofSerializer):
    email = EmailField()


@example({"token": LINK})
class TokenSerializer(serializers.Serializer):
    token = TextField(max_length=512)
