"""What the Python clients share: the person's browser, and what is asked of every OAuth library."""

import html
import json
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar

URL = sys.argv[1]
ENDPOINT = f"{URL}/mcp"
CALLBACK = "http://127.0.0.1:3030/callback"
PERSON = {"email": "ada@example.com", "password": "correct horse battery"}


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


def allow(address):
    """Sign in and say yes; the address that the browser is sent to."""
    cookies = urllib.request.HTTPCookieProcessor(CookieJar())
    browser = urllib.request.build_opener(cookies, Stay)

    def send(address, page, **fields):
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        return browser.open(address, urllib.parse.urlencode(hidden | fields).encode())

    page = browser.open(address).read().decode()
    consent = send(address, page, **PERSON).read().decode()
    action = html.unescape(re.search(r'action="([^"]+)"', consent)[1])
    try:
        send(urllib.parse.urljoin(address, action), consent, decision="allow")
    except urllib.error.HTTPError as answer:
        if answer.code == 302:
            return answer.headers["Location"]
    raise AssertionError("not redirected")


def post(path, body, **headers):
    """The status and the JSON that the service answers, without a client's help."""
    kind = "application/json" if isinstance(body, dict) else "application/x-www-form-urlencoded"
    data = json.dumps(body).encode() if isinstance(body, dict) else body.encode()
    request = urllib.request.Request(f"{URL}{path}", data, {"Content-Type": kind} | headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def whoami(token):
    params = {"name": "whoami", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"MCP-Protocol-Version": "2025-11-25", "Authorization": f"Bearer {token}"}
    status, answer = post("/mcp", message, **headers)
    return answer["result"]["structuredContent"]["email"] if status == 200 else status


def revoke(token, client_id):
    form = urllib.parse.urlencode({"token": token, "client_id": client_id})
    assert post("/oauth/revoke", form)[0] == 200


def live(access, token, refresh, client_id):
    """`refresh` gives the new access and refresh tokens for a refresh token, and raises an error
    that names itself."""
    assert whoami(access) == PERSON["email"]
    with ThreadPoolExecutor(5) as pool:
        many = list(pool.map(refresh, [token] * 5))
    assert len({renewed for _, renewed in many}) == 1
    again, renewed = refresh(token)  # as if the answers had been lost
    assert renewed == many[0][1]
    assert whoami(again) == PERSON["email"]
    revoke(renewed, client_id)
    assert whoami(again) == 401
    try:
        refresh(renewed)
    except Exception as refusal:
        said = f"{refusal!r} {refusal}".replace("_", "").lower()
    else:
        said = "not refused"
    assert "invalidgrant" in said, said
