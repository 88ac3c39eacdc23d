"""The tables hold all that there is: a new call, tool, command, action, button or page fails here
until it is in one of them."""

import pytest
from django.conf import settings
from django.contrib import admin
from django.core.management import get_commands
from django.test import RequestFactory
from django.urls import URLPattern

from accounts.models import User
from assistants.tools import TOOLS
from backoffice.pages import PanelAdmin
from tests.authority.at_the_shell import COMMANDS, OF_NOBODY
from tests.authority.back_office import ACTIONS, ADMIN_PAGES, BUTTONS, HARMLESS_ACTIONS
from tests.authority.by_token import CALLED_BY_TOOL, CALLS, OF_ONESELF, TOOLS_OF_ONESELF
from tests.routes import OPERATIONS
from tests.tables import compare

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(db):
    return User.objects.create_superuser("boss@example.com", None)


def request_by(user):
    request = RequestFactory().get("/admin/")
    request.user = user
    return request


def test_every_call_that_changes_something_is_in_the_table():
    changing = {operation for operation in OPERATIONS if not operation.startswith("GET ")}

    advice = (
        "say who may make the call in CALLS of tests/authority/by_token.py, or add it to OF_ONESELF"
    )
    compare({act.name for act in CALLS} | OF_ONESELF, changing, advice)


def test_every_tool_that_changes_something_is_in_the_table():
    changing = {name for name, tool in TOOLS.items() if not tool.read_only}

    advice = "add the tool to CALLED_BY_TOOL of tests/authority/by_token.py, or to TOOLS_OF_ONESELF"
    compare({act.name for act in CALLED_BY_TOOL} | TOOLS_OF_ONESELF, changing, advice)


def test_every_command_that_acts_on_a_person_is_in_the_table():
    ours = {name for name, app in get_commands().items() if (settings.BASE_DIR / app).is_dir()}

    advice = "add the command to COMMANDS of tests/authority/at_the_shell.py, or to OF_NOBODY"
    compare(COMMANDS.keys() | OF_NOBODY, ours, advice)


def test_every_action_of_the_back_office_is_in_the_table(boss):
    actions = {
        (model, name)
        for model, site in admin.site._registry.items()
        for name in site.get_actions(request_by(boss))
    }

    advice = "say who may take the action in ACTIONS of tests/authority/back_office.py"
    compare(ACTIONS.keys() | HARMLESS_ACTIONS, actions, advice)


def test_every_button_of_a_page_is_in_the_table():
    sites = [site for site in admin.site._registry.values() if isinstance(site, PanelAdmin)]

    buttons = {(site.model, name) for site in sites for name in site.actions}
    erasable = {s.model for s in sites if type(s).may_erase is not PanelAdmin.may_erase}

    advice = "say who may press the button in BUTTONS of tests/authority/back_office.py"
    compare(BUTTONS.keys(), buttons | {(model, "erase") for model in erasable}, advice)


def test_every_page_that_saves_is_in_the_table(boss):
    request = request_by(boss)
    pages = {
        (model, what)
        for model, site in admin.site._registry.items()
        for what in ("add", "change", "delete")
        if getattr(site, f"has_{what}_permission")(request)
    }

    advice = "say who may save the page in ADMIN_PAGES of tests/authority/back_office.py"
    compare(ADMIN_PAGES.keys(), pages, advice)


def test_no_admin_has_pages_of_its_own():
    for site in admin.site._registry.values():
        names = {str(pattern.name).rpartition("_")[2] for pattern in site.get_urls()}
        inlines = [*site.inlines, *getattr(site, "list_editable", ())]

        advice = f"{site} may have no page or inline of its own: make it an action or a button"
        assert names <= {"changelist", "add", "history", "delete", "change", "None"}, advice
        assert not inlines, advice


def test_back_office_has_no_other_pages():
    names = {entry.name for entry in admin.site.get_urls() if isinstance(entry, URLPattern)}

    advice = "name the page here, if it changes nothing; an act belongs on a model's page"
    compare({"index", "login", "logout", "autocomplete", "jsi18n", "app_list", None}, names, advice)
