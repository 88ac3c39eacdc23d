"""What a person who changes a password by link may send."""

from typing import Any

from rest_framework import serializers

from accounts.fields import NewPasswordField, TextField
from signin.openapi import ADA, LINK
from throttling.openapi import example


@example({"token": LINK, "password": ADA["password"]})
class RedeemSerializer(serializers.Serializer[Any]):
    token = TextField(max_length=512)
    password = NewPasswordField()
