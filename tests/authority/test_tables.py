"""The tables hold all that there is: a new call, tool, action, button, page or admin model fails
here until it is in one of them."""

import json

import pytest
from django.conf import settings
from django.contrib import admin
from django.core.management import get_commands
from django.test import RequestFactory

from accounts.models import User
from api.schema import openapi_json
from assistants.tools import TOOLS
from backoffice.pages import PanelAdmin
from tests.authority.at_the_shell import COMMANDS, OF_NOBODY
from tests.authority.back_office import ACTIONS, ADMIN_PAGES, BUTTONS, HARMLESS_ACTIONS
from tests.authority.by_token import CALLED_BY_TOOL, CALLS, OF_ONESELF, TOOLS_OF_ONESELF

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(db):
    return User.objects.create_superuser("boss@example.com", None)


def request_by(user):
    request = RequestFactory().get("/admin/")
    request.user = user
    return request


def test_every_call_that_changes_something_is_in_the_table():
    paths = json.loads(openapi_json())["paths"]
    operations = {f"{method.upper()} {path}" for path, found in paths.items() for method in found}
    changing = {one for one in operations if one.split()[0] in {"POST", "PUT", "PATCH", "DELETE"}}

    assert changing - OF_ONESELF == {act.name for act in CALLS}


def test_every_tool_that_changes_something_is_in_the_table():
    changing = {name for name, tool in TOOLS.items() if not tool.read_only}

    assert changing - TOOLS_OF_ONESELF == {act.name for act in CALLED_BY_TOOL}


def test_every_command_that_acts_on_a_person_is_in_the_table():
    ours = {name for name, app in get_commands().items() if (settings.BASE_DIR / app).is_dir()}

    assert ours - OF_NOBODY == COMMANDS.keys()


def test_every_action_of_the_back_office_is_in_the_table(boss):
    actions = {
        (model, name)
        for model, site in admin.site._registry.items()
        for name in site.get_actions(request_by(boss))
    }

    assert actions == ACTIONS.keys() | HARMLESS_ACTIONS


def test_every_button_of_a_page_is_in_the_table():
    sites = [site for site in admin.site._registry.values() if isinstance(site, PanelAdmin)]

    buttons = {(site.model, name) for site in sites for name in site.actions}
    erasable = {s.model for s in sites if type(s).may_erase is not PanelAdmin.may_erase}

    assert BUTTONS.keys() == buttons | {(model, "erase") for model in erasable}


def test_every_page_that_saves_is_in_the_table(boss):
    request = request_by(boss)
    pages = {
        (model, what)
        for model, site in admin.site._registry.items()
        for what in ("add", "change", "delete")
        if getattr(site, f"has_{what}_permission")(request)
    }

    assert pages == ADMIN_PAGES.keys()


def test_no_admin_has_pages_of_its_own():
    for site in admin.site._registry.values():
        names = {str(pattern.name).rpartition("_")[2] for pattern in site.get_urls()}
        inlines = [*site.inlines, *getattr(site, "list_editable", ())]

        assert names <= {"changelist", "add", "history", "delete", "change", "None"}, site
        assert not inlines, site
