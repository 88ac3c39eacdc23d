"""Users of the company, as its directory makes, changes and removes them."""

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Consultant, Role, User
from apikeys.models import ApiKey
from audit.actors import COMMAND
from audit.models import AuditEvent
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from privacy.models import Erasure
from scim.models import ScimUser
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.scim.conftest import Directory, operation, problem, prove, stored
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
NOT_ALLOWED = "userName must be an e-mail address in a domain that your company has proved"
FORMER_NOT_ALLOWED = (
    "the user's present address can't be mailed or is in no domain that your company has proved"
)
ADDRESS_REFUSED = (400, "invalidValue", NOT_ALLOWED)
TAKEN = (409, "uniqueness", "e-mail already registered")
LAST_ADMIN = (409, None, "the last admin cannot be removed")
KEEPS_PASSWORD = (409, None, "provisioning can't deactivate an admin who keeps a password")
KEEPS_ADDRESS = (409, None, "provisioning can't change the address of an admin")
INACTIVE, ACTIVE = operation(False, "active"), operation(True, "active")


def kinds():
    return [*AuditEvent.objects.order_by("pk").values_list("kind", flat=True)]


def mails():
    return [*OutgoingMail.objects.order_by("pk").values_list("email", "kind")]


@pytest.fixture
def admin(new_user, ada):
    """Another admin of Ada's company."""
    return new_user("adm@example.com", account=ada.account, role=Role.ADMIN)


@pytest.fixture
def guest(new_user, ada):
    """A user of the company with an address elsewhere."""
    return new_user("guest@elsewhere.net", account=ada.account)


def test_created_user_is_a_member_without_a_password(directory, ada):
    User.objects.update(language="sv")
    OutgoingMail.objects.all().delete()
    name = {"givenName": "Ann", "familyName": "Bee"}

    answer = directory.create("New@Example.com", externalId="A-1", name=name)

    user, body = stored("new@example.com"), answer.json()
    assert (answer.status_code, user.role, user.account) == (201, "member", ada.account)
    assert (user.first_name, user.last_name, user.is_active) == ("Ann", "Bee", True)
    assert (user.has_usable_password(), user.language, mails()) == (False, "sv", [])
    assert answer["Location"] == body["meta"]["location"]
    assert body["meta"]["created"] == body["meta"]["lastModified"]
    assert (body["id"], body["externalId"], body["userName"]) == (
        str(user.pk), "A-1", "new@example.com"
    )  # fmt: skip
    assert body["emails"] == [{"value": "new@example.com", "type": "work", "primary": True}]
    assert directory.get(f"Users/{user.pk}").json() == body
    assert directory.create("other@example.com", active=False).json()["active"] is False


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"displayName": "Ann Maria Bee"}, ("Ann Maria", "Bee")),
        ({"displayName": "Plato"}, ("", "Plato")),
        ({"displayName": "Bee, Ann Maria (IT)"}, ("Ann Maria", "Bee")),
        ({"displayName": "(Bee)"}, ("", "(Bee)")),
        ({"displayName": "Ann Bee [IT"}, ("Ann", "Bee")),
        ({"displayName": "[EXT] Ann (Annie) Bee - Sales, EMEA"}, ("Ann", "Bee")),
        ({"displayName": "Martin King, Jr."}, ("Martin", "King, Jr.")),
        ({"displayName": "King, Martin, Jr."}, ("Martin", "King, Jr.")),
        ({"displayName": "Ann Bee, Ph.D."}, ("Ann", "Bee, Ph.D.")),
        ({"displayName": "Rahman, Md"}, ("Md", "Rahman")),
        ({"displayName": "Van Bee, Iiida"}, ("Iiida", "Van Bee")),
        ({"displayName": " , "}, ("", "")),
        ({"name": {"formatted": "Ann Bee"}}, ("Ann", "Bee")),
        ({"displayName": "X Y", "name": {"givenName": "Ann"}}, ("Ann", "")),
        ({}, ("", "")),
    ],
)
def test_full_name_counts_where_its_parts_are_left_out(directory, fields, names):
    assert directory.create(**fields).status_code == 201
    user = stored("new@example.com")
    assert (user.first_name, user.last_name) == names


@pytest.mark.parametrize(
    ("full_name", "names"),
    [
        ("Rob Roy", ("Rob", "Roy")),
        ("Roy, Rob (IT)", ("Rob", "Roy")),
        ("Boole, Bob (IT)", ("Bob", "Boole")),
        ("[EXT] Boole, Bob", ("Bob", "Boole")),
        ("Bob Boole-Cox", ("Bob", "Boole-Cox")),
        ("Bob Maria Boole", ("Bob Maria", "Boole")),
        ("Bob Boole - External", ("Bob", "Boole")),
        ("bob boole", ("Bob", "Boole")),
        ("BooleBob", ("Bob", "Boole")),
        (" ", ("Bob", "Boole")),
    ],
)
@pytest.mark.parametrize("path", ["displayName", "name.formatted"])
def test_full_name_counts_alone_unless_it_writes_the_same_names(
    directory, bob, path, full_name, names
):
    assert directory.change(bob, operation(full_name, path)).status_code == 200

    bob.refresh_from_db()
    assert (bob.first_name, bob.last_name) == names


@pytest.mark.parametrize("last_name", ["Boole (IT)", "Boole - Cox", "[IT]"])
def test_stored_name_like_a_remark_stays_after_other_changes(directory, bob, last_name):
    User.objects.filter(pk=bob.pk).update(last_name=last_name)

    assert directory.change(bob, INACTIVE).status_code == 200
    assert directory.change(bob, operation(f"{last_name}, Bob", "displayName")).status_code == 200

    assert stored(bob.email).last_name == last_name


def test_put_with_given_and_family_name_keeps_them_whatever_the_full_name(directory, bob):
    """Okta sends all of them with each change of a profile."""
    name = {"givenName": "Bob", "familyName": "Boole", "formatted": "Boole, B."}
    for full_name in ("Boole, Bob (External)", "Dr. Rob Roy"):
        answer = directory.put(bob, userName=bob.email, name=name, displayName=full_name)

        assert answer.json()["displayName"] == stored(bob.email).get_full_name() == "Bob Boole"
    name["givenName"] = "Bert"
    answer = directory.put(bob, userName=bob.email, name=name, displayName="X Y")
    assert answer.json()["displayName"] == "Bert Boole"


def test_names_that_differ_by_spaces_alone_change_nothing(directory, bob):
    body = directory.get(f"Users/{bob.pk}").json()
    body["name"]["givenName"] += " "
    events = kinds()

    assert directory.put(bob, **body).json()["meta"] == body["meta"]
    assert kinds() == events


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("-", ""),
        (".", ""),
        ("\u200b", ""),
        ("\u200f\u05d3\u05d9", "\u05d3\u05d9"),
        ("Bee\tSea\n", "Bee Sea"),
        ("O'B", "O'B"),
    ],
)
def test_name_with_characters_of_no_use_is_cleaned(directory, bob, text, name):
    """Directories have them for a missing family name, or copied from a table."""
    body = directory.create(name={"givenName": "Ann", "familyName": text}).json()
    directory.change(bob, operation(text, "name.familyName"))

    assert body["name"].get("familyName", "") == stored(bob.email).last_name == name


def test_put_of_a_formatted_name_alone_keeps_or_changes_both_parts(directory, bob):
    for full_name in (bob.get_full_name(), "Rob Roy"):
        name = {"formatted": full_name}
        answer = directory.put(bob, userName=bob.email, name=name).json()

        assert answer["name"]["formatted"] == stored(bob.email).get_full_name() == full_name


def test_key_of_another_company_sees_no_one(directory, bob, eve, new_key):
    prove(eve.account, "example.org")
    other = Directory(new_key(eve)[1])

    unknown = other.get("Users/5f0f6f5e-0000-4000-8000-000000000000")
    answers = [other.get(f"Users/{bob.pk}"), other.change(bob, INACTIVE)]
    answers += [other.put(bob, userName="x@example.org"), other.remove(bob)]
    assert {answer.content for answer in answers} == {unknown.content}
    assert problem(unknown)[0] == 404
    assert other.get("Users").json()["totalResults"] == 1


@pytest.mark.parametrize("field", ["is_staff", "is_superuser"])
def test_staff_and_operators_are_out_of_reach(directory, bob, field):
    User.objects.filter(pk=bob.pk).update(**{field: True})

    assert directory.emails('userName sw "bob"') == set()
    answers = directory.get(f"Users/{bob.pk}"), directory.remove(bob)
    assert {answer.status_code for answer in answers} == {404}
    assert problem(directory.create(bob.email)) == TAKEN
    bob.refresh_from_db()
    assert bob.is_active


def test_guests_are_seen_and_can_be_deactivated_only(directory, guest):
    refused = directory.change(guest, operation("gg@example.com", "userName"))
    assert problem(refused) == (400, "invalidValue", FORMER_NOT_ALLOWED)
    assert directory.change(guest, INACTIVE).json()["active"] is False
    assert directory.remove(guest).status_code == 204
    assert problem(directory.create(guest.email)) == ADDRESS_REFUSED


def test_addresses_elsewhere_are_all_alike(directory, ada, eve, bob, costs):
    """Taken or free, before any query for them."""
    prove(eve.account, "example.org")
    taken, free = eve.email, "free@example.org"

    refused = [directory.create(email) for email in (taken, free, "no address", "x@y.z\0", "")]
    refused += [directory.change(bob, operation(email, "userName")) for email in (taken, free)]
    assert {problem(answer) for answer in refused[:4] + refused[5:]} == {ADDRESS_REFUSED}
    costs_of = [costs(lambda email=email: directory.create(email)) for email in (taken, free)]
    assert costs_of[0] == costs_of[1]
    ada.account.domains.update(proved_at=None)
    assert problem(directory.create()) == ADDRESS_REFUSED
    assert User.objects.count() == 3


def test_address_in_a_proved_domain_that_is_taken_elsewhere_is_a_conflict(directory, eve, bob):
    User.objects.filter(pk=eve.pk).update(email="eve@example.com")

    assert problem(directory.create("eve@example.com")) == TAKEN
    assert problem(directory.create(bob.email)) == TAKEN
    assert problem(directory.change(bob, operation("eve@example.com", "userName"))) == TAKEN


def test_open_invitation_ends_and_leaves_its_profile_but_not_its_role(directory, ada, eve):
    consultant = Consultant.objects.create(account=ada.account, name="Ann")
    own = Invitation.objects.invite(ada, "new@example.com", Role.ADMIN, consultant.pk)
    other = Invitation.objects.invite(eve, "new@example.com")

    directory.create()

    own.refresh_from_db()
    other.refresh_from_db()
    assert (own.status, other.status) == ("revoked", "pending")
    user = stored("new@example.com")
    assert (user.role, user.consultant_id) == ("member", consultant.pk)
    assert "invitation.revoked" in kinds()


def test_deactivation_ends_sessions_and_is_mailed_and_recorded(directory, bob):
    session = bearer(bob)

    answer = directory.change(bob, INACTIVE)

    assert (answer.status_code, answer.json()["active"]) == (200, False)
    assert session.get("/auth/me").status_code == 401
    assert (bob.email, "notice.deactivated") in mails()
    event = AuditEvent.objects.latest("pk")
    assert (event.kind, event.actor_email, event.detail["via"]) == (
        "user.deactivated", "API key Entra ID", "scim"
    )  # fmt: skip
    assert OutgoingMail.objects.get(email=bob.email).context["by"] == "API key Entra ID"
    assert directory.put(bob, userName=bob.email, displayName="R R").json()["active"] is False
    assert directory.change(bob, ACTIVE).json()["active"] is True
    assert kinds()[-1] == "user.activated"


def test_removed_user_is_deactivated_and_comes_back_as_a_member(directory, admin):
    assert directory.remove(admin).status_code == 204

    row = ScimUser.objects.get()
    assert (User.objects.get(pk=admin.pk).is_active, bool(row.removed_at)) == (False, True)
    answers = directory.get(f"Users/{admin.pk}"), directory.remove(admin)
    assert {answer.status_code for answer in answers} == {404}
    assert directory.emails(f'userName eq "{admin.email}"') == set()
    answer = directory.create(admin.email, name={"givenName": "Old", "familyName": "Hand"})
    assert (answer.status_code, answer.json()["id"]) == (201, str(admin.pk))
    admin.refresh_from_db()
    assert (admin.role, admin.is_active, admin.first_name) == ("member", True, "Old")
    assert [kind for kind in kinds() if "provisioned" in kind] == [
        "user.deprovisioned", "user.provisioned"
    ]  # fmt: skip


def test_user_whom_the_directory_disabled_comes_back_if_it_creates_the_user_again(directory, admin):
    """As Okta does when someone is assigned anew."""
    directory.change(admin, operation("00u1", "externalId"), INACTIVE)

    for other in ({"externalId": "00u2"}, {}):  # someone else
        assert problem(directory.create(admin.email, **other)) == TAKEN
    answer = directory.create(admin.email, externalId="00u1", name={"familyName": "-"})

    assert (answer.status_code, answer.json()["id"]) == (201, str(admin.pk))
    back = stored(admin.email)
    assert (back.is_active, back.role, back.last_name) == (True, "member", admin.last_name)
    assert problem(directory.create(admin.email, externalId="00u1")) == TAKEN
    User.objects.filter(pk=admin.pk).update(is_active=False, keeps_password=True, role=Role.ADMIN)
    assert problem(directory.create(admin.email, externalId="00u1")) == TAKEN


@pytest.mark.parametrize("is_known", [False, True])
def test_user_whom_an_admin_deactivated_is_not_brought_back(directory, ada, bob, is_known):
    """Whether or not the directory has written the user before, without an external id."""
    if is_known:
        directory.change(bob, operation("Rob", "name.givenName"))
    bearer(ada).patch(f"/users/{bob.pk}", {"is_active": False})

    for fields in ({"externalId": "00u1"}, {}):
        assert problem(directory.create(bob.email, **fields)) == TAKEN
    assert not stored(bob.email).is_active


@pytest.mark.parametrize("role", Role.values)
def test_address_of_a_user_whom_entra_id_deleted_stays_and_the_user_is_deactivated(
    directory, admin, role
):
    """It gets the object id before it, for another user to have the address."""
    User.objects.filter(pk=admin.pk).update(role=role)
    renamed = f"283405F5ABCD40009F3E0123456789C2{admin.email}"

    answer = directory.change(admin, operation(renamed, "userName"), operation("False", "active"))

    body = answer.json()
    assert (answer.status_code, body["userName"], body["active"]) == (200, admin.email, False)
    assert "notice.email_is_changed" not in {kind for _, kind in mails()}
    User.objects.filter(pk=admin.pk).update(role="member")
    for other in ("283405f5abcd40009f3e0123456789c2", f"283405f5{admin.email}"):
        answer = directory.change(admin, operation(other, "userName"))
        assert answer.status_code == 400 or answer.json()["userName"] == other


@pytest.mark.parametrize(
    "leave", [Directory.remove, lambda *call: Directory.change(*call, INACTIVE)]
)
def test_old_invitation_brings_no_leaver_back(directory, ada, leave):
    invitation = Invitation.objects.invite(ada, "new@example.com", Role.ADMIN)
    invitation.mail_was_sent(timezone.now())
    directory.create()

    leave(directory, stored("new@example.com"))

    body = {"token": invitation.token, "first_name": "N", "last_name": "E", "password": PASSWORD}
    assert API().post("/invitations/accept", body).status_code >= 400
    assert not stored("new@example.com").is_active
    assert bearer(ada).post("/invitations", {"email": "new@example.com"}).status_code == 409


def test_reactivation_on_the_page_brings_a_removed_user_back_into_sight(directory, ada, bob):
    directory.remove(bob)

    bearer(ada).patch(f"/users/{bob.pk}", {"is_active": True})

    assert directory.get(f"Users/{bob.pk}").json()["active"] is True
    assert problem(directory.create(bob.email)) == TAKEN


def test_renamed_user_is_signed_out_and_both_addresses_are_mailed(directory, bob):
    Invitation.objects.create(account=bob.account, email="rob@example.com")
    session = bearer(bob)

    answer = directory.change(bob, operation("Rob@Example.com", "userName"))

    assert (answer.status_code, answer.json()["userName"]) == (200, "rob@example.com")
    assert session.get("/auth/me").status_code == 401
    told = [email for email, kind in mails() if kind == "notice.email_is_changed"]
    assert sorted(told) == ["bob@example.com", "rob@example.com"]
    assert Invitation.objects.get().status == "revoked"


@pytest.mark.parametrize(("language", "text"), [
    ("en", "API key Entra ID changed your e-mail address from"),
    ("de", "API key Entra ID hat Ihre E-Mail-Adresse von"),
    ("sv", "API key Entra ID har ändrat din e-postadress från"),
])  # fmt: skip
def test_mail_about_a_new_address_names_the_key_and_has_no_link(
    directory, bob, mailoutbox, language, text
):
    User.objects.update(language=language)
    directory.change(bob, operation("rob@example.com", "userName"))

    Worker().work_round()

    bodies = [mail.body for mail in mailoutbox if mail.subject and text in mail.body]
    assert len(bodies) == 2
    assert not any("#token=" in body for body in bodies)


def test_admins_and_who_keeps_a_password_keep_their_address(directory, admin, bob):
    User.objects.filter(pk=bob.pk).update(keeps_password=True)

    for user in (admin, bob):
        refused = directory.change(user, operation("x@example.com", "userName"))
        assert problem(refused) == KEEPS_ADDRESS
        assert directory.change(user, operation(user.email.upper(), "userName")).status_code == 200


def test_last_admin_stays(directory, ada):
    assert problem(directory.change(ada, INACTIVE)) == LAST_ADMIN
    assert problem(directory.remove(ada)) == LAST_ADMIN
    ada.refresh_from_db()
    assert (ada.is_active, ScimUser.objects.count()) == (True, 0)


def test_admin_who_keeps_a_password_stays(directory, admin):
    User.objects.filter(pk=admin.pk).update(keeps_password=True, has_second_factor=True)

    assert problem(directory.change(admin, INACTIVE)) == KEEPS_PASSWORD
    assert problem(directory.remove(admin)) == KEEPS_PASSWORD
    User.objects.filter(pk=admin.pk).update(is_active=False)
    assert problem(directory.remove(admin)) == KEEPS_PASSWORD


def test_refused_request_changes_nothing(directory, ada, bob):
    """The name would be valid, the deactivation of the last admin is not."""
    before = User.objects.values().get(pk=ada.pk)

    answer = directory.change(ada, operation("Zed", "name.givenName"), INACTIVE)

    assert problem(answer) == LAST_ADMIN
    assert User.objects.values().get(pk=ada.pk) == before
    assert "profile.changed" not in kinds()
    name = {"givenName": "https://evil.example"}
    assert directory.create(name=name).status_code == 400
    assert directory.create(externalId="x" * 256).status_code == 400
    assert not User.objects.filter(email="new@example.com").exists()


def test_name_against_two_rules_is_refused_with_the_first(directory):
    answer = directory.create(name={"givenName": "www." + "x" * 150})

    status, scim_type, detail = problem(answer)
    assert (status, scim_type) == (400, "invalidValue")
    assert detail.startswith("givenName: ")
    assert not User.objects.filter(email="new@example.com").exists()


def test_stored_name_that_a_rule_refuses_by_now_hinders_no_deactivation(directory, bob):
    User.objects.filter(pk=bob.pk).update(first_name="www.bob.example")

    assert directory.change(bob, INACTIVE).json()["active"] is False


def test_deleted_company_has_no_key(directory, ada, bob):
    Erasure.objects.delete_company(ada.account, COMMAND)

    assert directory.change(bob, ACTIVE).status_code == 401
    assert not User.objects.get(pk=bob.pk).is_active


@pytest.mark.parametrize("path", ["password", "roles", "groups", "title", "entitlements"])
def test_what_is_not_in_the_schema_is_dropped(directory, bob, path):
    value = [{"value": "admin"}] if path.endswith("s") else "admin"
    before = directory.get(f"Users/{bob.pk}").json()

    assert directory.change(bob, operation(value, path)).json() == before
    assert directory.create(**{path: value}).status_code == 201
    user = stored("new@example.com")
    assert (user.role, user.has_usable_password()) == ("member", False)


def test_emails_are_made_of_the_user_name(directory, bob):
    before = directory.get(f"Users/{bob.pk}").json()
    emails = [{"value": "evil@example.net", "type": "home", "primary": True}]

    for change in (
        operation(emails, "emails"),
        operation({"emails": emails}),
        operation(op="remove", path="emails"),
    ):
        assert directory.change(bob, change).json() == before
    assert directory.put(bob, **before | {"emails": emails}).json() == before
    assert ScimUser.objects.count() == 0


def test_users_whom_no_directory_has_written_have_no_row(directory, bob):
    assert directory.put(bob, userName=bob.email).status_code == 200
    assert ScimUser.objects.count() == 0
    directory.change(bob, operation("B-1", "externalId"))
    assert ScimUser.objects.get().external_id == "B-1"
    assert directory.change(bob, operation(op="remove", path="externalId")).status_code == 200
    assert ScimUser.objects.get().external_id == ""


def test_database_deletes_the_row_with_its_user(directory, bob):
    """As a host of the release before does, which doesn't know the table."""
    directory.change(bob, operation("B-1", "externalId"))

    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_user WHERE id = %s", [bob.pk])

    assert ScimUser.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_admins_and_a_key_read_what_the_directory_did(directory, as_ada, ada, bob):
    directory.create()
    directory.remove(bob)
    reader = API(authorization=f"Bearer {ApiKey.objects.make(ada, 'SIEM', ['events:read'])[1]}")

    events = as_ada.get("/audit", data={"group": "people"}).json()["items"]
    items = reader.get("/events").json()["items"]

    told = {(event["kind"], event["actor_name"], event["via"]) for event in events}
    for kind in ("user.provisioned", "user.deprovisioned"):
        assert (kind, "API key Entra ID", "scim") in told
        assert kind in {item["type"] for item in items}
