"""Certificates that tests make for their own servers, and a server with one."""

import datetime
import ssl
import threading
import time
from collections import Counter
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from base import outgoing


def self_signed(folder, host):
    """A certificate for a host, which is its own authority, and its key, as PEM files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now, hour = datetime.datetime.now(datetime.UTC), datetime.timedelta(hours=1)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - hour)
        .not_valid_after(now + hour)
        .add_extension(x509.SubjectAlternativeName([host]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
    secret = key.private_bytes(pem, pkcs8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(secret)
    return folder / "cert.pem", folder / "key.pem"


def trust(authority, monkeypatch):
    """Let calls of this process trust the authority alone, from now on until the test ends."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    monkeypatch.setattr(outgoing, "tls_context", cache(outgoing.tls_context.__wrapped__))


class SecureServer(ThreadingHTTPServer):
    """HTTPS on loopback, with the folder's certificate, made if there is none. `says` are whole
    answers (status, headers, body) by path. `asked` counts requests by path, `sent` bytes; `forms`
    were posted; `pause` is before each byte of a body."""

    daemon_threads = True

    def __init__(self, folder, handler):
        super().__init__(("127.0.0.1", 0), handler)
        if not (folder / "cert.pem").exists():
            self_signed(folder, x509.DNSName("localhost"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.authority = str(folder / "cert.pem")
        self.origin = f"https://localhost:{self.server_port}"
        self.forget()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def forget(self):
        self.says, self.asked, self.forms, self.sent, self.pause = {}, Counter(), [], 0, 0.0

    def handle_error(self, request, client_address):
        """A client that hangs up is no failure of the test."""

    def server_close(self):
        self.shutdown()
        super().server_close()


class SecureHandler(BaseHTTPRequestHandler):
    server: SecureServer

    def do_GET(self):
        self.server.asked[self.path] += 1
        status, headers, body = self.server.says.get(self.path) or self.make_answer()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        size = 1 if self.server.pause else 65_536
        for start in range(0, len(body), size):
            time.sleep(self.server.pause)
            self.wfile.write(body[start : start + size])
            self.server.sent += size

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.forms.append(dict(parse_qsl(body)))
        self.do_GET()

    def make_answer(self):
        return 404, {}, b""

    def log_message(self, *args):
        pass
