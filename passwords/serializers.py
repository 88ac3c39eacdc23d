"""What a person who changes a password by link may send."""

from typing import Any

from rest_framework import serializers

from accounts.openapi import ADA, LINK, example
from accounts.serializers import NewPasswordField, TextField


@example({"token": LINK, "password": ADA["password"]})
class RedeemSerializer(serializers.Serializer[Any]):
    token = TextField(max_length=512)
    password = NewPasswordField()
