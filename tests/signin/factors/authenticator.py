"""An authenticator in software: does what a browser and a security key do together, and everything
that they would not."""

import hashlib
import json
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2 import cbor
from fido2.cose import ES256

ORIGIN = "http://localhost:8000"
UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40


def b64(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Authenticator:
    """One credential; the attributes are what a test may falsify."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id = os.urandom(32)
        self.handle = b""
        self.count = 0
        self.flags = UP | UV
        self.origin, self.rp_id = ORIGIN, "localhost"
        self.create, self.get = "webauthn.create", "webauthn.get"
        self.client = {}
        self.algorithm = None

    def client_data(self, kind, challenge):
        data = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(data | self.client).encode()

    def data(self, flags, attested=b""):
        rp_id_hash = hashlib.sha256(self.rp_id.encode()).digest()
        return rp_id_hash + struct.pack(">BI", flags, self.count) + attested

    def register(self, options):
        """A RegistrationResponseJSON."""
        options = options["publicKey"]
        self.handle = unb64(options["user"]["id"])
        public = ES256.from_cryptography_key(self.key.public_key())
        if self.algorithm is not None:
            public = {**public, 3: self.algorithm}
        credential = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id
        data = self.data(self.flags | AT, credential + cbor.encode(dict(public)))
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = self.client_data(self.create, options["challenge"])
        return self.credential(clientDataJSON=client_data, attestationObject=attestation)

    def sign(self, options):
        """An AuthenticationResponseJSON."""
        client_data = self.client_data(self.get, options["publicKey"]["challenge"])
        data = self.data(self.flags)
        signed = data + hashlib.sha256(client_data).digest()
        signature = self.key.sign(signed, ec.ECDSA(SHA256()))
        return self.credential(
            clientDataJSON=client_data,
            authenticatorData=data,
            signature=signature,
            userHandle=self.handle,
        )

    def credential(self, **response):
        return {
            "id": b64(self.credential_id),
            "rawId": b64(self.credential_id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {name: b64(value) for name, value in response.items()},
        }
