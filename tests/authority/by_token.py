"""The acts of REST and MCP."""

import re

from accounts.models import Role
from apikeys.models import ApiKey
from invitations.models import Invitation
from sso.models import Domain
from tests.assistants.conftest import send
from tests.authority.acts import CUSTOMERS, NOBODY, PEOPLE, Act

# The row that an id names.
ROWS = {
    "user_id": lambda user: user,
    "key_id": lambda account: ApiKey.objects.get(account=account),
    "invitation_id": lambda account: Invitation.objects.get(account=account),
    "domain_id": lambda account: Domain.objects.get(account=account),
}


def call(operation, body=None, **more):
    """A call by its operation in the schema; what is acted on is in the path."""
    method, path = operation.split()

    def do(api, actor, target):
        named = re.sub("{(.+)}", lambda found: str(ROWS[found[1]](target).pk), path)
        return api.call(method.lower(), named, body)

    return Act(operation, do, **more)


def tool(name, *ids, given=(), **more):
    """A tool, with the ids and what else it is given."""

    def do(api, actor, target):
        arguments = dict(given) | {name: str(ROWS[name](target).pk) for name in ids}
        return send(api, "tools/call", name=name, arguments=arguments)

    return Act(name, do, **more)


NEW = {"email": "new@example.com"}
OTHERS = tuple(name for name in PEOPLE if name != "self")
ROLE, TO_MEMBER, INACTIVE = {"role": Role.ADMIN}, {"role": "member"}, {"is_active": False}
# What admins do to the people, and the company, that are theirs.
CALLS = [
    call("PATCH /users/{user_id}", TO_MEMBER, before=ROLE),
    call("PATCH /users/{user_id}", INACTIVE),
    call("POST /users/{user_id}/sign-out", targets=OTHERS),
    call("POST /users/{user_id}/password-change", targets=OTHERS),
    call("DELETE /users/{user_id}/factors", own=NOBODY),
    call("PATCH /account", {"second_factor": "required"}, targets=CUSTOMERS),
    call("POST /account/domains", {"name": "new.example"}, targets=CUSTOMERS),
    call("DELETE /account/domains/{domain_id}", targets=CUSTOMERS),
    call("POST /account/domains/{domain_id}/prove", targets=CUSTOMERS),
    call("DELETE /account/api-keys/{key_id}", targets=CUSTOMERS),
    call("POST /invitations", NEW, targets=CUSTOMERS),
    call("DELETE /invitations/{invitation_id}", targets=CUSTOMERS),
    call("POST /invitations/{invitation_id}/resend", targets=CUSTOMERS),
]
CALLED_BY_TOOL = [
    tool("update_user", "user_id", given=TO_MEMBER, before=ROLE),
    tool("update_user", "user_id", given=INACTIVE),
    tool("sign_out_user", "user_id", targets=OTHERS),
    tool("send_password_mail", "user_id", targets=OTHERS),
    tool("invite_user", given=NEW, targets=CUSTOMERS),
    tool("resend_invitation", "invitation_id", targets=CUSTOMERS),
    tool("revoke_invitation", "invitation_id", targets=CUSTOMERS),
]
BY_TOKEN = CALLS + CALLED_BY_TOOL
# What changes nobody but the caller, or whoever has the mailed link; and no one at all.
OF_ONESELF = {
    "PATCH /auth/me", "PATCH /auth/sign-ins", "POST /auth/logout", "POST /auth/logout-everywhere",
    "DELETE /auth/grants/{grant_id}", "DELETE /auth/devices/{device_id}", "POST /auth/signup",
    "POST /auth/complete-signup", "POST /auth/register", "POST /auth/login", "POST /auth/refresh",
    "POST /auth/passkeys/options", "POST /auth/passkeys/login", "POST /auth/factors/totp",
    "POST /auth/factors/totp/confirm", "POST /auth/factors/passkeys",
    "POST /auth/factors/passkeys/options", "PATCH /auth/factors/{factor_id}",
    "POST /auth/factors/{factor_id}/remove", "POST /auth/recovery-codes", "POST /lockouts/redeem",
    "POST /invitations/accept", "POST /password-changes", "POST /auth/email-changes",
    "POST /auth/email-changes/waiting", "DELETE /auth/email-changes/waiting",
    "POST /email-changes/redeem", "POST /email-changes/undo", "POST /password-changes/redeem",
    "POST /auth/password", "POST /pages/link", "POST /oauth/register", "POST /oauth/token",
    "POST /oauth/revoke", "POST /oauth/authorize", "POST /auth/authorize",
}  # fmt: skip
# Of the caller's company, after its admin has shown the password again: see tests/sso and
# tests/apikeys.
OF_ONESELF |= {
    "POST /account/api-keys",
    "PUT /account/connection",
    "PATCH /account/connection",
    "DELETE /account/connection",
    "POST /account/connection/test",
    "POST /auth/sso",
    "POST /auth/sso/confirm",
    "POST /auth/sso/redeem",
}
# By API key, to users of its company: see tests/scim.
OF_ONESELF |= {f"{method} /scim/v2/{{path}}" for method in ("POST", "PUT", "PATCH", "DELETE")}
# Tools have tables of their own; the other one redirects to the back office.
OF_ONESELF |= {"POST /mcp", "POST /mcp/"}
OF_ONESELF |= {f"{method} /admin" for method in ("POST", "PUT", "PATCH", "DELETE")}
TOOLS_OF_ONESELF = {"update_profile"}
