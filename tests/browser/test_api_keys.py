"""An admin makes an API key on the company's page, a program uses it, and the admin revokes it; the
same with a directory's key, on the page for provisioning."""

import pytest

from tests.browser.conftest import act, open_company, open_tab, press, says, until
from tests.browser.helpers import prove, see
from tests.requests import ask

pytestmark = pytest.mark.browser
REFUSE_TO_COPY = """() => {
    const error = new DOMException("Write permission denied.", "NotAllowedError");
    navigator.clipboard.writeText = () => Promise.reject(error);
}"""

INVITATION = {"email": "carl@example.com", "role": "member"}


def open_keys(page):
    """Go to the company's API keys, from any of its pages."""
    open_company(page)
    open_tab(page, "settings")
    page.locator("[href='#api-keys']").click()
    page.locator("[data-tab=api-keys] :is(.empty, #keys tr[data-id]):visible").first.wait_for()


def fill_form(page, name="Payroll", scopes=("users:read",)):
    """Fill in the form of a new key, and send it."""
    page.locator("[data-tab=api-keys] details.row > summary").click()
    page.locator("#key-name").fill(name)
    for scope in scopes:
        page.locator(f"[value='{scope}']").check()
    page.locator("[data-tab=api-keys] button[type=submit]").click()


def read_key(page):
    """The key that the page shows once."""
    page.locator("[data-made-key]:visible").wait_for()
    return page.locator("[data-made-key]:visible [data-text=key]").inner_text()


def row(page, name="Payroll"):
    return page.locator("#keys tr", has_text=name)


def shows(page, name="Payroll", **texts):
    """Wait until the key's row shows these texts."""
    for part, text in texts.items():
        row(page, name).locator(f"[data-text={part}]:visible", has_text=text).first.wait_for()


CORE = "urn:ietf:params:scim:schemas:core:2.0:User"
PATCH_OP = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
NO_LINKS = {
    "en": "Names can't contain links.",
    "de": "Namen dürfen keine Links enthalten.",
    "sv": "Namn får inte innehålla länkar.",
}
PROVE = (
    "INSERT INTO accounts_domain (id, account_id, name, token, proved_at)"
    " SELECT gen_random_uuid(), account_id, 'example.com', 'token', now() FROM accounts_user"
)


def open_provisioning(page):
    open_company(page)
    open_tab(page, "settings")
    page.locator("[data-tab=settings] [href='#provisioning']").click()
    page.locator("[data-tab=provisioning] [data-proved]:visible").first.wait_for()


def make_directorys_key(page):
    page.locator("[data-tab=provisioning] details.row > summary").click()
    page.locator("#scim-name").fill("Entra ID")
    page.locator("[data-tab=provisioning] button[type=submit]").click()
    prove(page)
    return read_key(page)


def directory(page, text=""):
    """The directory's row, once it shows this text."""
    row = page.locator("#directories tr", has_text="Entra ID")
    row.locator(":visible", has_text=text).first.wait_for()
    return row


def call(site, key, path="/users", method="GET", body=None):
    return ask(site.service.url, method, path, body, authorization=f"Bearer {key}").status


def test_key_is_made_copied_used_and_revoked(page):
    site = page.site
    site.query("UPDATE accounts_account SET is_operators = false")  # which keys may not invite to
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_keys(page)
    until(page, "document.activeElement.matches('[data-tab=api-keys] h2')")
    page.get_by_text("No API keys yet.").wait_for()

    fill_form(page, scopes=["users:read", "invitations:write"])
    prove(page)
    key = read_key(page)
    until(page, "document.activeElement.matches('[data-made-key] h3')")
    command = f'curl -H "Authorization: Bearer $API_KEY" {site.url}/users'
    assert page.locator("[data-text=command]").inner_text() == command
    page.evaluate(REFUSE_TO_COPY)
    press(page, "Copy the command")
    says(page, "Your browser didn't allow it. Select the text and copy it yourself.")
    page.evaluate("delete navigator.clipboard.writeText")
    press(page, "Copy the key")
    says(page, "Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == key
    assert f"…{key[-4:]}" in row(page).inner_text()
    shows(page, scopes="Invite people, Read people", used="Never used")
    shows(page, maker="Ada Lovelace", until="Expires on")

    press(page, "I've saved the key")
    assert key not in page.content()
    assert page.locator("#key-name").input_value() == ""
    assert call(site, key) == 200
    assert call(site, key, "/audit") == 403
    assert call(site, key, "/invitations", "POST", INVITATION) == 201
    page.reload()
    shows(page, used="Last used on")

    act(page, "Payroll", "Revoke key", asks="Revoke the key Payroll?")
    says(page, "The key Payroll was revoked.")
    shows(page, until="Revoked on")
    assert row(page).locator("summary:visible").count() == 0
    assert call(site, key) == 401
    assert site.query("SELECT revoked_at IS NULL FROM invitations_invitation") == [(False,)]
    open_tab(page, "activity")
    page.get_by_text("Ada Lovelace revoked an API key: Payroll.").wait_for()
    page.get_by_text("API key Payroll invited carl@example.com.").wait_for()


def test_errors_stand_beside_the_fields(page):
    open_keys(page)
    fill_form(page, name="https://example.com", scopes=[])

    page.locator("#key-name-error", has_text="Names can't contain links.").wait_for()
    page.locator("#scopes-error", has_text="This field is required.").wait_for()
    page.locator("#key-name").fill("Payroll")
    page.locator("[value='audit:read']").check()
    press(page, "Create key")
    prove(page, "a wrong guess")
    says(page, "Incorrect password.")

    page.site.query(
        "INSERT INTO accounts_apikey (id, account_id, name, scopes, digest, last_four, created_at,"
        " expires_at) SELECT gen_random_uuid(), id, 'Key ' || n, '[\"users:read\"]', n, '0000',"
        " now(), now() + interval '1 day' FROM accounts_account, generate_series(1, 50) n"
    )
    prove(page)
    says(page, "Your company has 50 keys that work. Revoke one first.")

    page.reload()
    page.get_by_text("1 to 20 of 50").wait_for()
    shows(page, "Former user", maker="Former user")


@pytest.mark.parametrize("language", ["en", "de", "sv"])
def test_keys_have_no_barrier(site_of_ada, language):
    page = site_of_ada.account_in(language)
    open_keys(page)
    wrong = {"empty": see(page)}
    fill_form(page, scopes=[])
    page.locator("#scopes-error:not(:empty)").wait_for()
    wrong["refused"] = see(page, f"api-keys-refused-{language}")
    page.locator("[value='events:read']").check()
    page.locator("[data-tab=api-keys] button[type=submit]").click()
    page.locator("#proof-password:visible").wait_for()
    wrong["proof"] = see(page, f"api-keys-proof-{language}")
    prove(page)
    read_key(page)
    row(page).wait_for()
    wrong["made"] = see(page, f"api-keys-{language}")
    row(page).locator("summary").click()
    page.locator("[data-for='revoke key']:visible").click()
    page.locator("#confirm[open]").wait_for()
    wrong["question"] = see(page, f"api-keys-question-{language}")

    assert wrong == {"empty": [], "refused": [], "proof": [], "made": [], "question": []}


def test_directory_gets_a_key_once_the_domain_is_proved(page):
    site = page.site
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_provisioning(page)
    until(page, "document.activeElement.matches('[data-tab=provisioning] h2')")
    page.get_by_text("First prove your mail domain.").wait_for()
    assert page.locator("[data-tab=provisioning] details.row:visible").count() == 0
    page.locator("[data-proved=no] a").click()
    page.locator("[data-tab=sign-in]:visible").wait_for()

    site.query(PROVE)
    page.goto("/people#provisioning")
    page.reload()
    page.get_by_text("No keys yet.").wait_for()
    press(page, "Copy the base URL")
    says(page, "Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == f"{site.service.url}/scim/v2"
    key = make_directorys_key(page)
    directory(page, "Never used")
    assert site.query("SELECT scopes FROM accounts_apikey") == [(["scim"],)]
    assert site.query("SELECT expires_at > now() + interval '364 days' FROM accounts_apikey")[0][0]
    press(page, "I've saved the key")
    assert key not in page.content()

    site.query("UPDATE accounts_apikey SET last_used_at = now()")
    page.reload()
    directory(page, "No problem")
    site.query(
        "UPDATE accounts_apikey SET last_problem = '400 invalidPath', last_problem_at = now()"
    )
    page.reload()
    directory(page, "a request that we can't process (400 invalidPath)")
    site.query("UPDATE accounts_account SET is_operators = false")  # whose keys provision nobody
    site.query("UPDATE accounts_apikey SET last_problem_at = NULL")
    entry = {"schemas": [CORE], "userName": "bob@elsewhere.example"}
    assert call(site, key, "/scim/v2/Users", "POST", entry) == 400
    page.reload()
    directory(page, "An address isn't in a domain that you have proved.")
    entry |= {"userName": "bob@example.com", "displayName": "Bob Boole"}
    assert call(site, key, "/scim/v2/Users", "POST", entry) == 201
    [[user_id]] = site.query("SELECT id FROM accounts_user WHERE first_name = 'Bob'")
    renaming = {"op": "replace", "path": "name.givenName", "value": "Rob"}
    patch = {"schemas": [PATCH_OP], "Operations": [renaming]}
    assert call(site, key, f"/scim/v2/Users/{user_id}", "PATCH", patch) == 200

    directory(page).locator("summary").click()
    directory(page).locator("button:visible").click()
    page.get_by_text("Your people's accounts stay as they are.").wait_for()
    page.locator("#confirm [value=yes]").click()
    says(page, "The key Entra ID was revoked.")
    directory(page, "Revoked on")
    assert call(site, key) == 401
    open_tab(page, "activity")
    page.get_by_text("API key Entra ID changed the profile of Rob Boole.").wait_for()


def test_other_keys_are_not_among_a_directorys(page):
    page.site.query(PROVE)
    open_keys(page)
    fill_form(page, name="Payroll")
    prove(page)
    read_key(page)
    page.locator("[data-tab=api-keys] form").evaluate("form => form.closest('details').open = true")
    page.locator("[data-tab=api-keys] [href='#provisioning']").click()
    make_directorys_key(page)

    directory(page)
    assert page.locator("#directories tr[data-id]").count() == 1
    page.goto("/people#api-keys")
    page.locator("#keys tr", has_text="Entra ID").wait_for()
    assert page.locator("#keys tr[data-id]").count() == 2


@pytest.mark.parametrize("language", ["en", "de", "sv"])
def test_provisioning_has_no_barrier(site_of_ada, language):
    page = site_of_ada.account_in(language)
    open_provisioning(page)
    wrong = {"unproved": see(page, f"provisioning-unproved-{language}")}
    site_of_ada.query(PROVE)
    page.reload()
    page.locator("[data-tab=provisioning] [data-proved=yes]:visible").wait_for()
    make_directorys_key(page)
    directory(page)
    wrong["made"] = see(page, f"provisioning-{language}")
    site_of_ada.query(
        "UPDATE accounts_apikey SET last_problem_at = now(), last_used_at = now(),"
        " last_problem = 'givenName: Names can''t contain links.'"
    )
    page.reload()
    directory(page, f"givenName: {NO_LINKS[language]}")
    wrong["problem"] = see(page, f"provisioning-problem-{language}")

    assert wrong == {"unproved": [], "made": [], "problem": []}
