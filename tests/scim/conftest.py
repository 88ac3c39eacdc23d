"""A directory that provisions a company, whose domain example.com is proved."""

import pytest

from accounts.models import User
from apikeys.models import ApiKey
from tests.clients import API
from tests.sso.conftest import prove

CORE = "urn:ietf:params:scim:schemas:core:2.0:User"
PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


class Directory(API):
    """A SCIM client with a key. Paths are those below /scim/v2/."""

    def __init__(self, key):
        super().__init__(authorization=f"Bearer {key}")

    def call(self, method, path, body=None, **options):
        if method != "get":
            options = {"content_type": "application/scim+json"} | options
        return super().call(method, f"/scim/v2/{path}", body, **options)

    def create(self, email="new@example.com", **fields):
        return self.post("Users", {"schemas": [CORE], "userName": email} | fields)

    def change(self, user, *operations):
        """PATCH, by a user or an id."""
        body = {"schemas": [PATCH_OP], "Operations": operations}
        return self.patch(f"Users/{getattr(user, 'pk', user)}", body)

    def put(self, user, **fields):
        return self.call("put", f"Users/{user.pk}", {"schemas": [CORE]} | fields)

    def remove(self, user):
        return self.delete(f"Users/{getattr(user, 'pk', user)}")

    def emails(self, filter_text):
        answer = self.get("Users", data={"filter": filter_text})
        assert answer.status_code == 200, answer.json()
        return {user["userName"].partition("@")[0] for user in answer.json()["Resources"]}


def operation(value=None, path=None, op="replace"):
    members = {"op": op, "path": path, "value": value}
    return {name: member for name, member in members.items() if member is not None}


@pytest.fixture
def new_key(ada):
    """Makes a key, and gives its row and itself."""
    return lambda maker=ada, name="Entra ID": ApiKey.objects.make(maker, name, ["scim"])


@pytest.fixture
def directory(new_key, ada):
    prove(ada.account)
    return Directory(new_key()[1])


def problem(answer):
    """The status, the scimType and the detail of an error."""
    body = answer.json()
    assert answer["Content-Type"] == "application/scim+json"
    assert (body["schemas"], body["status"]) == ([ERROR], str(answer.status_code))
    return answer.status_code, body.get("scimType"), body["detail"]


def stored(email):
    return User.objects.get(email=email)


MAKE_KEY = """
from django.utils import timezone
from accounts.models import Account, User
from apikeys.models import ApiKey
from sso.models import Domain
account = Account.objects.create(name="Analytical Engines")
ada = User.objects.create_user("ada@example.com", None, account=account, role="admin")
Domain.objects.create(account=account, name="example.com", proved_at=timezone.now())
print(ApiKey.objects.make(ada, "Entra ID", ["scim"])[1])
"""


def provisioned(service):
    """Give the service a company with a proved domain; returns its directory's key."""
    return service.manage("shell", "--no-imports", "-v0", "-c", MAKE_KEY).split()[-1]
