"""Proof Key for Code Exchange (RFC 7636): a code is useful only to the client that has the secret
verifier whose challenge came with the request."""

import base64
import hashlib


def challenge_of(verifier: str) -> str:
    """The challenge of a verifier by the method S256 (RFC 7636 §4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
