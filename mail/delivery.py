"""Delivering one mail of the outbox."""

import contextlib
import logging

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.db import transaction
from django.utils import timezone

from base.emails import is_mailed_as_written
from mail.links import EmailedLink
from mail.message import compose_mail
from mail.notices import KINDS_DELETED_AT_END, Notice
from mail.outbox import (
    FINAL_STATES,
    GIVE_UP_AFTER,
    GIVE_UP_ATTEMPTS,
    MAILBOX_LIMIT_REACHED,
    MailState,
    OutgoingMail,
    retry_pause,
)
from mail.smtp import MAIL_SERVER_ERRORS, failure_summary, is_final, smtp_reply

logger = logging.getLogger(__name__)

# Reasons for not sending a mail, stored in `OutgoingMail.problem`.
NO_LINK_TO_SEND = "nothing to send"
LINK_NO_LONGER_VALID = "its link is no longer valid"
MAILED_TO_ANOTHER_MAILBOX = "its address is another one to mail servers"


class NotToSend(Exception):
    """The mail must not be sent. `args` holds the MailState that it ends in, and the reason."""


class BudgetExhausted(Exception):
    """The mailbox's budget is used up; the mail was put off until the budget's next window."""


class NotSent(Exception):
    """The mail server refused the message, or failed."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def deliver(mail: OutgoingMail, server: BaseEmailBackend) -> bool:
    """Deliver a mail that is due, through an open connection to the mail server. Call it outside of
    a transaction.

    1. Lease the mail. If another worker has it, or its row has changed, nothing is done.
    2. Find the mail's notice or live link, or create a request's. Without one, the mail ends.
    3. Spend the mailbox's budget, once for each mail whose kind waits for it. Beyond the limit the
       mail is put off. For a request that may name any address, this comes before step 2; for a
       link that only users get after it, so that an unknown address uses up nobody's budget.
    4. Render the mail. Errors of this step are the service's, and logged with their traceback.
    5. Send it. No transaction is open while the server answers.
    6. Store the outcome. A mail that failed is tried again, for three days at least, unless the
       server says that the mailbox will never accept mail.

    Returns False if the mail server gave no reply code, such as after a timeout or for an address
    that can't be encoded, and True after any other outcome. Raises DatabaseError while the database
    is unavailable; any other error is stored as the mail's outcome.
    """
    if not mail.lease():
        return True
    try:
        if mail.state == MailState.REQUESTED and not mail.link_model.only_for_registered:
            spend_budget(mail)  # also for a refusal: the count must not tell who is registered
        content = find_or_make_content(mail)
        if content.waits_for_budget:
            spend_budget(mail)
        message = compose_mail(mail, content)
        send_message(message, server)
        store_sent(mail, content)
    except BudgetExhausted:
        pass
    except NotToSend as end:
        store_outcome(mail, *end.args)  # the final state, and the reason
    except NotSent as failure:
        store_failure(mail, failure.error)
        code, _ = smtp_reply(failure.error)
        return bool(code)
    except Exception as error:
        store_failure(mail, error, log_traceback=True)
    return True


def find_or_make_content(mail: OutgoingMail) -> EmailedLink | Notice:
    """The link or notice of a leased mail; a request's link is made here.

    Raises NotToSend if the link is used, revoked, expired or deleted, if the request gets no link,
    or if the mailer would send to another address. Raises UnknownKind for a link of another
    release.
    """
    if not is_mailed_as_written(mail.email):  # only release 2.1 accepted such addresses
        raise NotToSend(MailState.REFUSED, MAILED_TO_ANOTHER_MAILBOX)
    if mail.state == MailState.REQUESTED:
        return make_link(mail)
    content = mail.find_content()
    if content is None or not content.is_live():
        raise NotToSend(MailState.DROPPED, LINK_NO_LONGER_VALID)
    return content


def make_link(mail: OutgoingMail) -> EmailedLink:
    """Create the link of a requested mail, and make the mail READY, in one transaction. Raises
    NotToSend if the address gets no link, and UnknownKind for a kind of another release."""
    with transaction.atomic():
        link = mail.link_model.for_mail(mail)
        if link is None:
            raise NotToSend(MailState.DROPPED, NO_LINK_TO_SEND)
        decision = {"state": MailState.READY, "link_id": link.pk, "language": link.language}
        OutgoingMail.objects.filter(pk=mail.pk).update(**decision)
    mail.state, mail.link_id, mail.language = MailState.READY, link.pk, link.language
    return link


def spend_budget(mail: OutgoingMail) -> None:
    """Count the mail, of a link, in its budget, unless it is counted already. Beyond the limit,
    puts the mail off until the budget's window ends, and raises BudgetExhausted. Raises UnknownKind
    for a request of another release."""
    if mail.counted_at is not None:
        return
    budget, row = mail.budget, OutgoingMail.objects.filter(pk=mail.pk)
    with transaction.atomic():
        is_within = budget.spend()
        if is_within:
            mail.counted_at = timezone.now()
            row.update(counted_at=mail.counted_at)
        else:
            row.update(due_at=budget.window_end(), problem=MAILBOX_LIMIT_REACHED)
    if not is_within:
        raise BudgetExhausted


def send_message(message: EmailMessage, server: BaseEmailBackend) -> None:
    """Send a message through an open connection. Raises NotSent if the mail server refuses the
    message or fails, or the address cannot be encoded; any other error is raised as it is. Closes
    the connection after any error."""
    try:
        server.send_messages([message])
    except Exception as error:
        with contextlib.suppress(*MAIL_SERVER_ERRORS):
            server.close()
        if isinstance(error, MAIL_SERVER_ERRORS):
            raise NotSent(error) from error
        raise


def store_sent(mail: OutgoingMail, content: EmailedLink | Notice) -> None:
    """Store that the mail was sent. The lifetime of its link begins, if it hasn't yet."""
    now = timezone.now()
    with transaction.atomic():
        content.mail_was_sent(now)
        store_outcome(mail, MailState.SENT, sent_at=now)
    logger.info("mail %s sent", mail.pk)


def store_failure(mail: OutgoingMail, error: Exception, *, log_traceback: bool = False) -> None:
    """Store that an attempt failed by `error`, count it, and log it.

    The mail is tried again after a pause. A final failure, such as an unknown mailbox, makes the
    mail REFUSED at once; another failure makes it FAILED once it is GIVE_UP_AFTER old and was tried
    GIVE_UP_ATTEMPTS times.
    """
    now, attempts, reason = timezone.now(), mail.attempts + 1, failure_summary(error)
    state = MailState(mail.state)
    if is_final(error):
        state = MailState.REFUSED
    elif attempts >= GIVE_UP_ATTEMPTS and now - mail.created_at >= GIVE_UP_AFTER:
        state = MailState.FAILED
    store_outcome(mail, state, reason, due_at=now + retry_pause(attempts))
    traceback = error if log_traceback else None
    logger.warning(
        "mail %s not sent (%s), attempt %d", mail.pk, reason, attempts, exc_info=traceback
    )


def store_outcome(mail: OutgoingMail, state: MailState, reason: str = "", **values: object) -> None:
    """Store the mail's state, the reason for it and `values` of other columns, and count one more
    attempt. A sent or dropped mail loses its context. A mail of KINDS_DELETED_AT_END that ends is
    deleted instead. Does nothing if an erasure has deleted the row."""
    row = OutgoingMail.objects.filter(pk=mail.pk)
    if state in FINAL_STATES and mail.kind in KINDS_DELETED_AT_END:
        row.delete()
        return
    if state in {MailState.SENT, MailState.DROPPED}:
        values["context"] = None  # it may name people
    row.update(state=state, problem=reason, attempts=mail.attempts + 1, **values)
