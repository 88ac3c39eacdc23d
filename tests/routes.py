"""Every route of the service, taken from the URL map: a view can't be left out of it.

The tests of authority, costs, company isolation and the schema walk these routes. The back office,
below /admin/, has tables of its own in tests/authority.
"""

import re
import runpy
import uuid
from collections import defaultdict
from dataclasses import dataclass

from django.contrib.admindocs.views import simplify_regex
from django.test import override_settings
from django.urls import URLPattern
from django.urls.resolvers import RegexPattern

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Route:
    """A path as the schema spells it, `/users/{user_id}`, and the methods that its view answers."""

    path: str
    methods: tuple[str, ...]

    @property
    def operations(self):
        return [f"{method} {self.path}" for method in self.methods]


def methods_of(callback):
    """Those of a class; of a function, which could answer any, all."""
    view = getattr(callback, "cls", None) or getattr(callback, "view_class", None)
    if view is None:
        return tuple(METHODS)
    names = [name.upper() for name in view.http_method_names if hasattr(view, name)]
    return tuple(method for method in METHODS if method in names)


def path_of(pattern):
    """A route as Django spells it, of a regular expression as DRF does; `*` for any path."""
    text = str(pattern)
    if isinstance(pattern, RegexPattern):
        return simplify_regex(text).lstrip("/") or "*"
    return text


def walk(patterns, before="/"):
    for entry in patterns:
        path = before + PARAMETER.sub(r"{\1}", path_of(entry.pattern))
        if isinstance(entry, URLPattern):
            yield Route(path, methods_of(entry.callback))
        elif path != "/admin/":
            yield from walk(entry.url_patterns, path)


def url_of(path, **values):
    """The path with these values of its parameters, a page's name, or a random id."""
    parameters = defaultdict(uuid.uuid4, {"name": "login", "var": "%23token=x"} | values)
    return re.sub("{(.+?)}", lambda match: str(parameters[match[1]]), path)


# With the route that a setting adds.
with override_settings(METRICS_TOKEN="what Prometheus brings"):
    ROUTES = list(walk(runpy.run_path("config/urls.py")["urlpatterns"]))
OPERATIONS = {operation for route in ROUTES for operation in route.operations}
