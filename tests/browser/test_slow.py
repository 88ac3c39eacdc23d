"""Accepting an invitation by a slow connection: few bytes, few requests and little time."""

import time

import pytest

from tests.browser.conftest import fill, invite, says
from tests.conftest import PASSWORD

pytestmark = pytest.mark.browser

# "Slow 3G": 400 kbit/s, and 400 ms for an answer.
SLOW = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}


def test_accepting_an_invitation_takes_45_kilobytes_and_5_seconds(people):
    site, times = people.site, []
    invited = [f"charles{number}@example.com" for number in range(3)]
    invite(people, *invited)
    says(people, "3 invitations sent.")

    for email in invited:  # a busy machine is no fault of the pages
        size, seconds = accept(site, site.mailed_link(email))
        assert size < 45_000
        times.append(seconds)
        if seconds < 5:
            break

    assert min(times) < 5, times


def accept(site, link):
    """The bytes from opening the link until the invitation is accepted, and the seconds until the
    next page is there."""
    page, sizes = site.tab("/health"), []
    devtools = page.context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.send("Network.emulateNetworkConditions", SLOW)
    devtools.on("Network.loadingFinished", lambda done: sizes.append(done["encodedDataLength"]))
    started = time.monotonic()
    page.goto(link, wait_until="commit")
    page.locator("fieldset:enabled [name=first_name]").first.wait_for()
    with page.expect_response("**/invitations/accept"):
        fill(page, first_name="Charles", last_name="Babbage", password=PASSWORD)
    size = sum(sizes)
    page.wait_for_url("**/profile")
    return size, time.monotonic() - started
