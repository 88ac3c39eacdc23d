"""How the public keys look to their readers."""

from rest_framework import serializers

from throttling.openapi import example

KEY = {
    "kty": "RSA",
    "kid": "k1",
    "use": "sig",
    "alg": "RS256",
    "n": "0vx7agoebGcQSuu…",
    "e": "AQAB",
}


class Key(serializers.Serializer):
    """A public key (RFC 7517)."""

    kty = serializers.ChoiceField(["RSA"])
    kid = serializers.CharField()
    use = serializers.ChoiceField(["sig"])
    alg = serializers.ChoiceField(["RS256"])
    n = serializers.CharField()
    e = serializers.CharField()


@example({"keys": [KEY]})
class KeySet(serializers.Serializer):
    keys = Key(many=True)
