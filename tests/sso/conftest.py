"""A company with a provider, and browsers that sign in there."""

import secrets
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.utils import timezone

from base.pkce import challenge_of
from sso import openid
from sso.models import Domain, IdentityProvider, ProviderMetadata
from tests.certificates import trust
from tests.clients import API, bearer
from tests.sso.provider import CLIENT, SECRET, Provider


@pytest.fixture(scope="session")
def running_provider(tmp_path_factory):
    with Provider(tmp_path_factory.mktemp("provider")) as server:
        yield server


@pytest.fixture
def provider(running_provider, settings, monkeypatch):
    """A trusted provider on loopback that answers correctly until a test changes it."""
    trust(running_provider.authority, monkeypatch)
    running_provider.be_honest()
    settings.SSO_PRIVATE_ISSUERS = [running_provider.issuer]
    return running_provider


def prove(account, name="example.com"):
    return Domain.objects.create(account=account, name=name, proved_at=timezone.now())


def connect(account, provider, domain):
    """Set up the provider for a company, tested and active, with a proved domain."""
    prove(account, domain)
    provider_row = IdentityProvider(
        pk=account.pk, account=account, issuer=provider.issuer, client_id=CLIENT
    )
    provider_row.secret, provider_row.tested_at, provider_row.active = SECRET, timezone.now(), True
    provider_row.save(force_insert=True)
    return provider_row


@pytest.fixture
def connection(provider, ada):
    """Ada's company signs in at the provider."""
    connection = connect(ada.account, provider, "example.com")
    ProviderMetadata.objects.store(connection, openid.discover_provider(connection.issuer))
    provider.asked.clear()
    return connection


class Browser:
    """A front-end in a browser with a verifier and cookies of its own."""

    def __init__(self, provider):
        self.provider, self.api = provider, API()
        self.verifier = secrets.token_urlsafe(48)

    @property
    def challenge(self):
        return challenge_of(self.verifier)

    def find(self, email="ada@example.com"):
        return self.api.post("/auth/sso", {"email": email, "challenge": self.challenge}).json()

    def start(self, url=None):
        """Begin the sign-in; returns the URL at the provider."""
        response = self.api.get(url or self.find()["url"])
        assert response.status_code == 302, response.content
        return response["Location"]

    def bring_answer(self, location, answer, method="get"):
        """Bring the provider's answer; returns what stands after the # of the front-end's page."""
        path = urlsplit(parse_qs(urlsplit(location).query)["redirect_uri"][0]).path
        self.response = self.api.call(method, f"{path}?{urlencode(answer)}")
        return fragment(self.response)

    def visit(self, url=None, **claims):
        """Sign in at the provider; returns what stands after the # of the front-end's page."""
        location = self.start(url)
        return self.bring_answer(location, self.provider.approve(location, **claims))

    def redeem(self, code, verifier=None):
        body = {"code": code, "verifier": verifier or self.verifier}
        return self.api.post("/auth/sso/redeem", body)

    def sign_in(self, **claims):
        return self.redeem(self.visit(**claims)["code"])


def fragment(response):
    page, _, fragment_text = response.get("Location", "").partition("#")
    assert not fragment_text or page == "http://localhost:8000/sso"
    return {name: values[0] for name, values in parse_qs(fragment_text).items()}


@pytest.fixture
def browser(provider, connection):
    return Browser(provider)


@pytest.fixture
def meanwhile(monkeypatch):
    """A function that makes `act` run during the calls to the provider."""
    check = openid.check_token

    def arrange(act):
        monkeypatch.setattr(openid, "check_token", lambda *args: [act(), check(*args)][1])

    return arrange


def url_of_test(user):
    """The URL at which an admin's test of the provider begins."""
    body = {"challenge": challenge_of("a verifier")}
    return bearer(user).post("/account/connection/test", body).json()["url"]
