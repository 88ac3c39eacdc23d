"""Release 2.1.0 runs beside this one: its worker takes what this release's hosts wrote into the
outbox, and the reverse."""

import pytest

from tests.releases.code import HERE, git, unpack
from tests.requests import ask

SPELLINGS = [f"victim+{number}@example.net" for number in range(12)]
SENT = "SELECT count(*) FROM mail_outgoingmail WHERE state = 'sent'"
MAKE_DUE = "UPDATE mail_outgoingmail SET due_at = now() WHERE state IN ('requested', 'ready')"
WINDOWS_END = "UPDATE mail_mailbudget SET begun_at = begun_at - interval '1 hour'"


@pytest.fixture(scope="module")
def code_before(tmp_path_factory):
    """The commit that set the version 2.1.0."""
    arguments = ["log", "--reverse", "--format=%H", '-Sversion = "2.1.0"', "--", "pyproject.toml"]
    commit = git(*arguments).decode().split()[0]
    return unpack(commit, tmp_path_factory.mktemp("before") / "code")


@pytest.fixture
def service(new_service):
    service = new_service(RATE_LIMIT_CREDENTIAL="1000")
    service.add_operator()
    return service


def request_by(service, code):
    """Let a host with this code take twelve sign-ups and an invitation for one mailbox, and a
    request for a password link."""
    service.code = code
    service.start()
    for email in SPELLINGS:
        assert ask(service.url, "POST", "/auth/signup", {"email": email}).status == 200
    body = {"email": "victim@example.net"}
    assert ask(service.url, "POST", "/invitations", body, **service.bearer()).status == 201
    body = {"email": "ada@example.com"}
    assert ask(service.url, "POST", "/password-changes", body).status == 200


def work_by(service, code):
    """Make all mails due, and run a worker with this code once. Returns how many mails are sent."""
    service.query(MAKE_DUE)
    service.code = code
    service.manage("runworker", "--once")
    return service.query(SENT)[0][0]


def test_worker_of_2_1_0_sends_what_this_release_wrote(service, code_before):
    request_by(service, HERE)

    assert work_by(service, code_before) == 10 + 1  # ten for the mailbox, as 2.1.0 counts them
    assert work_by(service, HERE) == 14


def test_this_worker_sends_what_a_host_of_2_1_0_wrote(service, code_before):
    request_by(service, code_before)

    assert work_by(service, HERE) == work_by(service, HERE) == 5 + 2
    service.query(WINDOWS_END)
    assert work_by(service, HERE) == 10 + 2
