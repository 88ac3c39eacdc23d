"""What was mailed, as its reader sees it."""

import re

from django.core import mail
from linkify_it import LinkifyIt

from worker.rounds import Worker


def mailed():
    """The newest mail, once the worker has done what there is to do."""
    Worker().work_round()
    return mail.outbox[-1]


def mailed_token():
    """The token in the newest mail, found as a person would: in its text."""
    return re.search(r"#token=(\S+)", str(mailed().body))[1]


def visible(text):
    """The text without the signs that keep mail clients from making links."""
    return text.replace("\u2060", "")


def links_in(text):
    """What a mail client would make links of."""
    linkify = LinkifyIt(options={"fuzzy_ip": True}).tlds("test", keep_old=True)
    return [found.raw for found in linkify.match(text) or []]
