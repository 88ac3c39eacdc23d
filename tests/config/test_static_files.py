"""Static files: compressed, kept by browsers for good, and found by pages of other releases."""

import fcntl
import gzip
import os
import re

import pytest
from django.conf import settings

from tests.requests import ask

SCRIPT = re.compile(rb'src="(/static/[0-9a-f]{12}/)pages/pages\.js"')


@pytest.fixture(scope="module")
def service(new_shared_service):
    service = new_shared_service()
    service.start()
    return service


@pytest.fixture(scope="module")
def folder(service):
    """The folder that the pages name, which changes with the files' contents."""
    return SCRIPT.search(ask(service.url, "GET", "/login").body)[1].decode()


@pytest.mark.parametrize("name", ["pages/pages.js", "pages/pages.css", "admin/css/base.css"])
def test_files_are_compressed_and_kept_for_good(service, folder, name):
    answer = ask(service.url, "GET", f"{folder}{name}", Accept_Encoding="gzip")

    assert answer.status == 200
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert re.search(r"max-age=\d{8,}.*immutable", answer.headers["Cache-Control"])
    assert gzip.decompress(answer.body) == ask(service.url, "GET", f"{folder}{name}").body
    tag = answer.headers["ETag"]
    assert ask(service.url, "GET", f"{folder}{name}", If_None_Match=tag).status == 304


def test_own_scripts_come_without_comments_on_the_same_lines(service, folder):
    served = ask(service.url, "GET", f"{folder}pages/lists.js").body.decode().splitlines()
    written = (settings.BASE_DIR / "pages/static/pages/lists.js").read_text().splitlines()

    assert len(served) == len(written)
    assert not [line for line in served if line.lstrip().startswith(("/*", "*", "//"))]
    statements = [n for n, line in enumerate(written) if line.startswith(("import", "whenShown"))]
    assert statements
    assert [served[n] for n in statements] == [written[n] for n in statements]
    vendored = ask(service.url, "GET", f"{folder}admin/js/core.js").body
    assert b"\n// " in vendored


@pytest.mark.parametrize("old_folder", ["/static/0123456789ab/", "/static/"])
def test_pages_of_another_release_find_the_files_for_a_minute(service, folder, old_folder):
    answer = ask(service.url, "GET", f"{old_folder}pages/pages.js")
    part = ask(service.url, "GET", f"{old_folder}pages/pages.js", Range="bytes=0-9")

    assert (answer.status, part.status) == (200, 206)
    for one in (answer, part):
        assert one.headers["Cache-Control"] == "max-age=60, public"
    assert answer.body == ask(service.url, "GET", f"{folder}pages/pages.js").body
    assert ask(service.url, "GET", f"{old_folder}pages/missing.js").status == 404


def test_a_page_is_compressed_but_no_answer_with_a_secret_or_large_file(service, folder):
    large = ask(
        service.url, "GET", f"{folder}admin/js/vendor/jquery/jquery.js", Accept_Encoding="gzip"
    )
    page = ask(service.url, "GET", "/login", Accept_Encoding="gzip")
    office = ask(service.url, "GET", "/admin/login/", Accept_Encoding="gzip")
    refusal = ask(service.url, "POST", "/auth/refresh", {}, Accept_Encoding="gzip")

    assert page.headers["Content-Encoding"] == "gzip"
    assert b"<h1" in gzip.decompress(page.body)
    assert "Content-Encoding" not in office.headers
    assert "Content-Encoding" not in refusal.headers
    assert (large.status, large.headers["Content-Length"]) == (200, str(len(large.body)))


def test_cleaner_of_temporary_files_takes_nothing(new_service, tmp_path):
    """systemd-tmpfiles deletes old files, but in no folder that a program holds with flock."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    new_service(TMPDIR=str(folder), METRICS_TOKEN="what Prometheus brings").start()

    (held_folder,) = folder.glob("consulting-*")  # gunicorn deletes its own files at once
    with pytest.raises(BlockingIOError):
        fcntl.flock(os.open(held_folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
