"""Accepting an invitation by a slow connection: few bytes, few requests and little time."""

import time

import pytest

from tests.browser.conftest import fill, invite, says
from tests.cast import PASSWORD

pytestmark = pytest.mark.browser

# "Slow 3G": 400 kbit/s, and 400 ms for an answer.
SLOW = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}


def test_accepting_an_invitation_takes_45_kilobytes_and_5_seconds(people):
    site, times = people.site, []
    invited = [f"charles{number}@example.com" for number in range(6)]
    invite(people, *invited)
    says(people, "6 invitations sent.")

    for slow, fast in zip(invited[::2], invited[1::2], strict=True):
        size, seconds = accept(site, site.mailed_link(slow), SLOW)
        assert size < 45_000
        times.append(seconds - accept(site, site.mailed_link(fast))[1])  # less the machine's share
        if times[-1] < 5:
            break

    assert times[-1] < 5, times


def accept(site, link, conditions=None):
    """The bytes from opening the link until the invitation is accepted, and the seconds until the
    next page is there."""
    page, sizes = site.tab("/health"), []
    devtools = page.context.new_cdp_session(page)
    devtools.send("Network.enable")
    if conditions:
        devtools.send("Network.emulateNetworkConditions", conditions)
    devtools.on("Network.loadingFinished", lambda done: sizes.append(done["encodedDataLength"]))
    started = time.monotonic()
    page.goto(link, wait_until="commit")
    page.locator("fieldset:enabled [name=first_name]").first.wait_for()
    with page.expect_response("**/invitations/accept"):
        fill(page, first_name="Charles", last_name="Babbage", password=PASSWORD)
    size = sum(sizes)
    page.wait_for_url("**/profile")
    return size, time.monotonic() - started
