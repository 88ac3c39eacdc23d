"""A provider that lies on request: OpenID Connect on an HTTPS server on loopback."""

import base64
import hashlib
import hmac
import json
import secrets
import time
from functools import cache
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.certificates import SecureHandler, SecureServer

CLIENT, SECRET = "client/1", "s3cret+of %the client"


@cache
def private_key(kind):
    """A private key of this kind, the same during a run: making an RSA key takes long."""
    if kind.startswith("RSA"):
        return rsa.generate_private_key(public_exponent=65537, key_size=int(kind[3:7]))
    if kind == "EC":
        return ec.generate_private_key(ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate()


# Answers without a document: status, headers and body.
ANSWERS = {
    "error": (400, {}, b'{"error": "invalid_grant"}'),
    "failure": (500, {}, b""),
    "redirect": (302, {"Location": "/elsewhere"}, b""),
    "page": (200, {"Content-Type": "text/html"}, b"<html>"),
    "list": (200, {}, b"[]"),
    "nested": (200, {}, b"[" * 50_000),
    "much": (200, {}, b'{"a": "' + b"a" * 2_000_000 + b'"}'),
    "nothing": (200, {}, b"{}"),
}
KINDS = {"RS256": "RSA2048", "PS256": "RSA2048", "ES256": "EC", "EdDSA": "Ed25519"}


def jwk(kind, kid="k1", **members):
    """The public key of this kind, as in a JWK Set."""
    algorithm = {"E": ECAlgorithm, "R": RSAAlgorithm}.get(kind[0])
    algorithm = OKPAlgorithm if kind == "Ed25519" else algorithm
    key = algorithm.to_jwk(private_key(kind).public_key(), as_dict=True)
    key.pop("key_ops", None)
    key = key | {"kid": kid, "use": "sig"} | members
    return {name: value for name, value in key.items() if value is not ...}


def pem(kind):
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return private_key(kind).public_key().public_bytes(serialization.Encoding.PEM, form)


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(claims, algorithm="RS256", kind=None, kid="k1", **header):
    """A token, also one that no library would make: unsigned, or by a secret of any form."""
    header = {"kid": kid} | header
    if algorithm in {"none", "HS256"}:
        parts = json.dumps({"alg": algorithm} | header).encode(), json.dumps(claims).encode()
        content = ".".join(map(encoded, parts))
        mac = hmac.digest(kind, content.encode(), "sha256") if kind else b""
        return f"{content}.{encoded(mac)}"
    header = {name: value for name, value in header.items() if value is not None}
    key = private_key(kind or KINDS[algorithm])
    return jwt.encode(claims, key, algorithm, headers=header)


class Provider(SecureServer):
    """`claims`, `metadata`, `keys` and `userinfo` are what it says, and tests change them: a value
    of `...` leaves a member out. `sign` makes the ID token."""

    def __init__(self, folder):
        super().__init__(folder, Handler)

    def be_honest(self):
        self.forget()
        self.issuer = self.origin
        self.claims, self.metadata, self.userinfo, self.codes = {}, {}, {}, {}
        self.keys, self.sign = [jwk("RSA2048")], signed

    def described(self):
        ends = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "keys"}
        ends |= {"userinfo_endpoint": "userinfo"}
        document = {name: f"{self.issuer}/{path}" for name, path in ends.items()}
        return without({"issuer": self.issuer} | document | self.metadata)

    def approve(self, location, sub="1", **claims):
        """The provider's answer for a user who has signed in at the URL `location`."""
        query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        code = secrets.token_urlsafe(12)
        self.codes[code] = query, {"sub": sub} | claims
        return {"code": code, "state": query["state"]}

    def send_back(self, location):
        """The URL to which a browser at `location` is redirected; `browsing` has its user."""
        back = parse_qs(urlsplit(location).query)["redirect_uri"][0]
        answer = self.approve(location, auth_time=int(time.time()), **self.browsing)
        return f"{back}?{urlencode(answer)}"

    def redeem(self, form, authorization):
        """The answer of the token endpoint, which checks all that a client must send."""
        query, claims = self.codes.pop(form["code"])
        name, password = base64.b64decode(authorization.partition(" ")[2]).decode().split(":")
        assert (unquote(name), unquote(password)) == (CLIENT, SECRET)
        assert form["redirect_uri"] == query["redirect_uri"]
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert query["code_challenge_method"] == "S256"
        assert query["code_challenge"] == encoded(digest)
        now = int(time.time())
        told = {"iss": self.issuer, "aud": CLIENT, "nonce": query["nonce"], "iat": now}
        told |= {"email_verified": True}
        token = self.sign(without(told | {"exp": now + 300} | claims | self.claims))
        return {"id_token": token, "access_token": f"for {claims['sub']}", "token_type": "Bearer"}


def without(document):
    return {name: value for name, value in document.items() if value is not ...}


class Handler(SecureHandler):
    server: Provider

    def make_answer(self):
        if self.path.startswith("/auth?"):
            return 302, {"Location": self.server.send_back(self.path)}, b""
        if self.path == "/token" and self.server.forms[-1]["code"] not in self.server.codes:
            return ANSWERS["error"]
        authorization = self.headers["Authorization"] or ""
        documents = {
            "/.well-known/openid-configuration": self.server.described,
            "/keys": lambda: {"keys": self.server.keys},
            "/userinfo": lambda: {"sub": authorization.split()[-1]} | self.server.userinfo,
            "/token": lambda: self.server.redeem(self.server.forms[-1], authorization),
        }
        return 200, {}, json.dumps(documents[self.path]()).encode()
