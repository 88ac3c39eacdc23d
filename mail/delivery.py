"""Delivering one mail of the outbox."""

import logging
from typing import NamedTuple

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.utils import timezone

from base.emails import is_mailed_as_written
from mail.links import EmailedLink
from mail.message import compose_mail, origin_context
from mail.notices import FORGOTTEN, Notice
from mail.outbox import ENDS, GIVE_UP_AFTER, TRIES, OutgoingMail, State, retry_pause
from mail.smtp import NotSent, failure_summary, send

logger = logging.getLogger(__name__)

# Reasons, as they are stored.
NOTHING_TO_SEND = "nothing to send"
LINK_IS_DEAD = "its link is no longer valid"
WRONG_MAILBOX = "its address is another one to mail servers"


class Outcome(NamedTuple):
    """What became of a mail, to be stored."""

    state: State
    reason: str = ""
    sent: EmailedLink | Notice | None = None  # what was sent
    is_failure: bool = False
    error: Exception | None = None  # a failure of ours, to be logged with its traceback


class Ended(Exception):
    """The mail is not sent. Its argument is the Outcome."""


class WaitsForBudget(Exception):
    """The mail was put off until its budget's next window."""


def deliver(mail: OutgoingMail, server: BaseEmailBackend) -> bool:
    """Deliver a mail that is due, through an open connection, in six steps:

    1. Lease: one UPDATE takes it. If the worker is killed, it is due again when the lease ends.
    2. Decide: find its notice or link; that of a request is made now. End it if there is none.
    3. Spend its mailbox's budget, once. Beyond the limit it waits. For a request to anyone's
       address this comes first, in the transaction of step 2.
    4. Render it. An error here is ours, and is logged with its traceback.
    5. Send it. No transaction is open while the server answers.
    6. Store the outcome. A mail that failed is tried again, for three days at least.

    Returns False if the mail server itself seems to have failed. Raises DatabaseError if the
    outcome can't be stored.
    """
    if not mail.lease():
        return True
    try:
        content = decide(mail)
        spend_budget(mail, content)
        message = render(mail, content)
        send(message, server)
        store(mail, Outcome(State.SENT, sent=content))
    except WaitsForBudget:
        pass
    except Ended as end:
        store(mail, *end.args)
    except NotSent as failure:
        state = State.REFUSED if failure.is_final else state_after_failure(mail)
        store(mail, Outcome(state, str(failure), is_failure=True))
        return not failure.is_trouble_of_server
    except Exception as error:
        reason = failure_summary(error)
        store(mail, Outcome(state_after_failure(mail), reason, is_failure=True, error=error))
    return True


def decide(mail: OutgoingMail) -> EmailedLink | Notice:
    """What to send. Raises Ended if there is nothing, and WaitsForBudget."""
    if not is_mailed_as_written(mail.email):  # queued by 2.1, or of a user from that time
        raise Ended(Outcome(State.REFUSED, WRONG_MAILBOX))
    if mail.state == State.REQUESTED:
        make_link(mail)
    content = mail.find_content()
    if content is None or not content.is_live():
        raise Ended(Outcome(State.DROPPED, LINK_IS_DEAD))
    return content


def make_link(mail: OutgoingMail) -> None:
    """Make the link of a request. Raises Ended if none is to be sent, and WaitsForBudget.

    If the address may be anyone's, the mail counts before it is known whether there is a link, and
    waits undecided: neither may tell which addresses are registered. Links for users count when
    they are sent, since a link to another address doesn't use up what the user may get.
    """
    kind = mail.link_model
    with transaction.atomic():
        is_within = kind.only_for_registered or mail.count_in_budget()
        link = kind.for_mail(mail) if is_within else None
        if link is not None:
            decided = {"state": State.READY, "link_id": link.pk, "language": link.language}
            OutgoingMail.objects.filter(pk=mail.pk).update(**decided)
    if not is_within:
        raise WaitsForBudget
    if link is None:
        raise Ended(Outcome(State.DROPPED, NOTHING_TO_SEND))
    mail.state, mail.link_id, mail.language = State.READY, link.pk, link.language


def spend_budget(mail: OutgoingMail, content: EmailedLink | Notice) -> None:
    """Count the mail unless it has been counted. Raises WaitsForBudget beyond the limit."""
    if content.waits_for_budget and not mail.count_in_budget():
        raise WaitsForBudget


def render(mail: OutgoingMail, content: EmailedLink | Notice) -> EmailMessage:
    if isinstance(content, EmailedLink):
        content.end_token_with_letter()
    facts = origin_context(mail.created_at, mail.origin)
    return compose_mail(mail.pk, content, mail.language, facts)


def state_after_failure(mail: OutgoingMail) -> State:
    """The same state, in which it is tried again; given up after three days and TRIES."""
    is_over = timezone.now() - mail.created_at >= GIVE_UP_AFTER and mail.attempts + 1 >= TRIES
    return State.FAILED if is_over else State(mail.state)


def store(mail: OutgoingMail, outcome: Outcome) -> None:
    """Store the outcome, and start the life of a link that was sent."""
    now, attempts = timezone.now(), mail.attempts + 1
    values = {"state": outcome.state, "problem": outcome.reason, "attempts": attempts}
    if outcome.is_failure:
        values["due_at"] = now + retry_pause(attempts)
    if outcome.state in {State.SENT, State.DROPPED}:
        values["context"] = None  # it may name people
    with transaction.atomic():
        if outcome.sent is not None:
            values["sent_at"] = now
            outcome.sent.mail_was_sent(now)
        row = OutgoingMail.objects.filter(pk=mail.pk)  # an erasure may have deleted it meanwhile
        if outcome.state in ENDS and mail.kind in FORGOTTEN:
            row.delete()
        else:
            row.update(**values)
    if outcome.is_failure:
        facts = (mail.pk, outcome.reason, attempts)
        logger.warning("mail %s not sent (%s), attempt %d", *facts, exc_info=outcome.error)
    elif outcome.sent is not None:
        logger.info("mail %s sent", mail.pk)
