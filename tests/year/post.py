"""The mail server that everybody's mails go to, and what it should have been given."""

import re
import time
from collections import Counter

from tests.hosts import conftest
from tests.mail.test_mail import MailServer

# A mail worker that has found no mail server pauses for up to a minute, of the machine's time.
PATIENCE = 150  # seconds; of no matter where all is well


def wait_until(true, pause=0.05):
    conftest.wait_until(true, PATIENCE, pause)


class Post(MailServer):
    """A mail server that is told by the calendar which mails there should be."""

    def __init__(self):
        super().__init__()
        self.expected = Counter()  # (address, subject)
        self.start()

    def arrived(self):
        return Counter((message["To"], message["Subject"]) for message in self.messages)

    def expect(self, email, subject):
        self.expected[email, subject] += 1

    def wait_for_all(self):
        """Until as many mails have come as should; which, and whether each is there once."""
        deadline = time.monotonic() + PATIENCE
        while len(self.messages) < self.expected.total() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.arrived() == self.expected
        ids = Counter(message["Message-ID"] for message in self.messages)
        assert not [name for name, times in ids.items() if times > 1]

    def token(self, email, subject):
        """Wait for an expected mail, and give the token of its link."""
        self.expect(email, subject)
        wait_until(lambda: self.arrived()[email, subject] >= self.expected[email, subject])
        found = [m for m in self.messages if (m["To"], m["Subject"]) == (email, subject)]
        return token_in(found[-1])


def token_in(message):
    text = message.get_body(("plain",))
    assert text is not None
    found = re.search(r"#token=(\S+)", text.get_content())
    assert found is not None, text.get_content()
    return found[1]
