"""The acts of REST and MCP."""

from accounts.models import Domain, Role
from invitations.models import Invitation
from tests.assistants.conftest import send
from tests.authority.acts import CUSTOMERS, NOBODY, PEOPLE, Act


def tool(name, **arguments):
    def do(api, actor, target):
        given = {argument: value(target) for argument, value in arguments.items()}
        return send(api, "tools/call", name=name, arguments=given)

    return do


def its_invitation(account):
    return str(Invitation.objects.get(account=account).pk)


def its_domain(account):
    return str(Domain.objects.get(account=account).pk)


def its_id(row):
    return str(row.pk)


NEW = {"email": "new@example.com"}
OTHERS = tuple(name for name in PEOPLE if name != "self")
ROLE = {"role": Role.ADMIN}
# By their operation in the schema: what admins do to the people, and the company, that are theirs.
CALLS = {
    "PATCH /users/{user_id}": [
        Act(
            "PATCH role",
            lambda api, actor, target: api.patch(f"/users/{target.pk}", {"role": "member"}),
            before=ROLE,
        ),
        Act(
            "PATCH is_active",
            lambda api, actor, target: api.patch(f"/users/{target.pk}", {"is_active": False}),
        ),
    ],
    "POST /users/{user_id}/sign-out": [
        Act(
            "POST sign-out",
            lambda api, actor, target: api.post(f"/users/{target.pk}/sign-out"),
            targets=OTHERS,
        )
    ],
    "POST /users/{user_id}/password-change": [
        Act(
            "POST password-change",
            lambda api, actor, target: api.post(f"/users/{target.pk}/password-change"),
            targets=OTHERS,
        )
    ],
    "DELETE /users/{user_id}/factors": [
        Act(
            "DELETE factors",
            lambda api, actor, target: api.delete(f"/users/{target.pk}/factors"),
            own=NOBODY,
        )
    ],
    "PATCH /account": [
        Act(
            "PATCH account",
            lambda api, actor, _: api.patch("/account", {"second_factor": "required"}),
            targets=CUSTOMERS,
        )
    ],
    "POST /account/domains": [
        Act(
            "POST domain",
            lambda api, actor, _: api.post("/account/domains", {"name": "new.example"}),
            targets=CUSTOMERS,
        )
    ],
    "DELETE /account/domains/{domain_id}": [
        Act(
            "DELETE domain",
            lambda api, actor, target: api.delete(f"/account/domains/{its_domain(target)}"),
            targets=CUSTOMERS,
        )
    ],
    "POST /account/domains/{domain_id}/prove": [
        Act(
            "prove domain",
            lambda api, actor, target: api.post(f"/account/domains/{its_domain(target)}/prove"),
            targets=CUSTOMERS,
        )
    ],
    "POST /invitations": [
        Act("POST", lambda api, actor, _: api.post("/invitations", NEW), targets=CUSTOMERS)
    ],
    "DELETE /invitations/{invitation_id}": [
        Act(
            "DELETE",
            lambda api, actor, target: api.delete(f"/invitations/{its_invitation(target)}"),
            targets=CUSTOMERS,
        )
    ],
    "POST /invitations/{invitation_id}/resend": [
        Act(
            "resend",
            lambda api, actor, target: api.post(f"/invitations/{its_invitation(target)}/resend"),
            targets=CUSTOMERS,
        )
    ],
}
CALLED_BY_TOOL = {
    "update_user": [
        Act(
            "update_user role",
            tool("update_user", user_id=its_id, role=lambda _: "member"),
            before=ROLE,
        ),
        Act("update_user", tool("update_user", user_id=its_id, is_active=lambda _: False)),
    ],
    "sign_out_user": [Act("sign_out_user", tool("sign_out_user", user_id=its_id),
                          targets=OTHERS)],
    "send_password_mail": [Act("send_password_mail", tool("send_password_mail", user_id=its_id),
                               targets=OTHERS)],
    "invite_user": [Act("invite_user", tool("invite_user", email=lambda _: NEW["email"]),
                        targets=CUSTOMERS)],
    "resend_invitation": [Act("resend_invitation",
                              tool("resend_invitation", invitation_id=its_invitation),
                              targets=CUSTOMERS)],
    "revoke_invitation": [Act("revoke_invitation",
                              tool("revoke_invitation", invitation_id=its_invitation),
                              targets=CUSTOMERS)],
}  # fmt: skip
BY_TOKEN = [act for acts in [*CALLS.values(), *CALLED_BY_TOOL.values()] for act in acts]
# What changes nobody but the caller, or whoever has the mailed link; and no one at all.
OF_ONESELF = {
    "PATCH /auth/me",
    "POST /auth/logout",
    "POST /auth/logout-everywhere",
    "DELETE /auth/grants/{grant_id}",
    "DELETE /auth/devices/{device_id}",
    "POST /auth/signup",
    "POST /auth/complete-signup",
    "POST /auth/register",
    "POST /auth/login",
    "POST /auth/refresh",
    "POST /auth/passkeys/options",
    "POST /auth/passkeys/login",
    "POST /auth/factors/totp",
    "POST /auth/factors/totp/confirm",
    "POST /auth/factors/passkeys",
    "POST /auth/factors/passkeys/options",
    "PATCH /auth/factors/{factor_id}",
    "POST /auth/factors/{factor_id}/remove",
    "POST /auth/recovery-codes",
    "POST /lockouts/redeem",
    "POST /invitations/accept",
    "POST /password-changes",
    "POST /auth/email-changes",
    "POST /email-changes/redeem",
    "POST /email-changes/undo",
    "POST /password-changes/redeem",
    "POST /pages/link",
    "POST /auth/sso",
    "POST /auth/sso/redeem",
    "POST /account/connection/test",
    "POST /oauth/register",
    "POST /oauth/token",
    "POST /oauth/revoke",
    "POST /oauth/authorize",
}
# Of the caller's company, after its admin has shown the password again: see tests/sso.
OF_ONESELF |= {
    "PUT /account/connection",
    "PATCH /account/connection",
    "DELETE /account/connection",
    "POST /account/connection/test",
    "POST /auth/sso",
    "POST /auth/sso/redeem",
}
TOOLS_OF_ONESELF = {"update_profile"}
