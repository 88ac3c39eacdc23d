"""Proof Key for Code Exchange (RFC 7636): a client asks for a code with a challenge, and exchanges
the code with the secret verifier. A thief of the code lacks the verifier."""

import base64
import hashlib


def challenge_of(verifier: str) -> str:
    """The challenge of a verifier by the method S256 (RFC 7636 §4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
