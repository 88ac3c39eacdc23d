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
    """An honest one, until the test changes it; trusted, and let in at its address."""
    trust(running_provider.authority, monkeypatch)
    running_provider.be_honest()
    settings.SSO_PRIVATE_ISSUERS = [running_provider.issuer]
    return running_provider


def prove(account, name):
    return Domain.objects.create(account=account, name=name, proved_at=timezone.now())


def connect(account, provider, domain):
    """Let a company sign in at the provider."""
    prove(account, domain)
    made = IdentityProvider(
        pk=account.pk, account=account, issuer=provider.issuer, client_id=CLIENT
    )
    made.secret, made.tested_at, made.active = SECRET, timezone.now(), True
    made.save(force_insert=True)
    return made


@pytest.fixture
def connection(provider, ada):
    """Ada's company signs in at the provider."""
    made = connect(ada.account, provider, "example.com")
    ProviderMetadata.objects.store(made, openid.discover_provider(made.issuer))
    provider.asked.clear()
    return made


class Browser:
    """A front-end in a browser: it has a verifier, and cookies of its own."""

    def __init__(self, provider):
        self.provider, self.api = provider, API()
        self.verifier = secrets.token_urlsafe(48)

    @property
    def challenge(self):
        return challenge_of(self.verifier)

    def find(self, email="ada@example.com"):
        return self.api.post("/auth/sso", {"email": email, "challenge": self.challenge}).json()

    def start(self, url=None):
        """Go to the provider: the URL there."""
        response = self.api.get(url or self.find()["url"])
        assert response.status_code == 302, response.content
        return response["Location"]

    def come_back(self, location, answer, method="get"):
        """Bring the provider's answer: what stands after the # of the front-end's page."""
        path = urlsplit(parse_qs(urlsplit(location).query)["redirect_uri"][0]).path
        self.response = self.api.call(method, f"{path}?{urlencode(answer)}")
        return fragment(self.response)

    def visit(self, url=None, **claims):
        """The whole way to the front-end."""
        location = self.start(url)
        return self.come_back(location, self.provider.approve(location, **claims))

    def redeem(self, code, verifier=None):
        body = {"code": code, "verifier": verifier or self.verifier}
        return self.api.post("/auth/sso/redeem", body)

    def sign_in(self, **claims):
        return self.redeem(self.visit(**claims)["code"])


def fragment(response):
    page, _, found = response.get("Location", "").partition("#")
    assert not found or page == "http://localhost:8000/sso"
    return {name: values[0] for name, values in parse_qs(found).items()}


@pytest.fixture
def browser(provider, connection):
    return Browser(provider)


@pytest.fixture
def meanwhile(monkeypatch):
    """Does something while the provider is being asked."""
    check = openid.check_token

    def arrange(act):
        monkeypatch.setattr(openid, "check_token", lambda *args: [act(), check(*args)][1])

    return arrange


def url_of_test(user):
    """Where an admin's test of the connection begins."""
    body = {"challenge": challenge_of("a verifier")}
    return bearer(user).post("/account/connection/test", body).json()["url"]
