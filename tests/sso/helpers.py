"""A name server, the calls about a provider, and readers of their answers."""

import socketserver
import threading
from urllib.parse import parse_qs, urlsplit

import dns.message
import dns.rrset

from accounts.models import User
from mail.outbox import OutgoingMail
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.sso.provider import CLIENT, SECRET


class DNSHandler(socketserver.BaseRequestHandler):
    def handle(self):
        data, wire = self.request
        query = dns.message.from_wire(data)
        answer = dns.message.make_response(query)
        name = query.question[0].name
        for text in self.server.records.get(name.to_text(omit_final_dot=True), []):
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", text))
        wire.sendto(answer.to_wire(), self.client_address)


class NameServer(socketserver.ThreadingUDPServer):
    """A DNS server on loopback; `records` are texts by name."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), DNSHandler)
        self.records, self.address = {}, f"127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def server_close(self):
        self.shutdown()
        super().server_close()


def publish(server, domain, *other_texts):
    value = domain["record_value"]
    server.records[domain["record_name"]] = [*other_texts, f'"{value[:20]}" "{value[20:]}"']


PATH = "/account/connection"


def put_provider(admin, provider, **changes):
    body = {"issuer": provider.issuer, "client_id": CLIENT, "client_secret": SECRET}
    return bearer(admin).call("put", PATH, body | {"password": PASSWORD} | changes)


def patch_provider(admin, **switches):
    return bearer(admin).patch(PATH, {"password": PASSWORD} | switches)


def outcome(response):
    """The status and the error of an answer, to compare with those expected."""
    return response.status_code, response.json()["error"]


def sso_notices():
    mails = OutgoingMail.objects.filter(kind="notice.sso_changed").order_by("created_at")
    return [(mail.email, mail.context["change"]) for mail in mails]


def make_break_glass_admin(user):
    User.objects.filter(pk=user.pk).update(
        role="admin", keeps_password=True, has_second_factor=True
    )


def query_of(url):
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
