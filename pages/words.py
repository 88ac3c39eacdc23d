"""What the pages' script says, by the key it looks up: its own words, and the API's errors."""

import math

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.passwords import Breached, Common, Personal
from audit.models import Kind

WORDS = {
    # Said of a limit and of a lock alike, and true of both: nobody shall tell one from the other.
    "too many attempts": _(
        "Too many attempts. Wait a minute and try again; if that does not help, wait {lock}. "
        "Forgotten your password? Ask for a link meanwhile; it works after that."
    ),
    "too many attempts: link": _(
        "Too many attempts. Wait a minute and try again; if that does not help, wait {lock}. "
        "Your link is not used up: it stays good for as long as its mail says."
    ),
    "goes on by itself": _("Too many requests just now. This goes on by itself in a moment."),
    "goes on by itself: long": _(
        "Still too many attempts. This goes on by itself; it can take {lock}. What works "
        "meanwhile: a passkey, other devices on which you are signed in, and asking for a new "
        "password."
    ),
    "a quarter": _("a quarter of an hour"),
    "minutes": _("{count} minutes"),
    "log in": _("Log in"),
    "new password": _("Ask for a new password"),
    "signed in as somebody else": _(
        "You are signed in as {email}. If you go on, that ends in this browser."
    ),
    "busy": _("One moment…"),
    "try again": _("Try again"),
    "unreachable": _("The service cannot be reached. Please try again in a moment."),
    "unlocked": _("You can log in again."),
    "saved": _("Saved."),
    "signed out": _("You are signed out."),
    "welcome": _("Welcome! You are signed in."),
    "password changed": _("Password changed."),
    "your role has changed": _("Your role has changed."),
    "sent again": _("It has been sent again."),
    "no link": _("This page needs the link from your e-mail. Please open that link again."),
    "join": _("Join {company}"),
    "too short": _("At least {count} characters."),
    "more characters": _("{count} more to go."),
    "long enough": _("Long enough."),
    "sign out everywhere: sure": _("Sign out everywhere?"),
    "sign out everywhere: then": _("You will have to log in again on every device, here too."),
    # Second factors
    "totp": _("Authenticator app"),
    "totp: label": _("Code"),
    "totp: hint": _("The six digits that your authenticator app shows."),
    "passkey": _("Passkey"),
    "recovery_code: label": _("Recovery code"),
    "recovery_code: hint": _("One of the codes that you have kept. Each works once."),
    "qr": _("QR code for the authenticator app"),
    "copied": _("Copied."),
    "codes left": _("Recovery codes left: {count}"),
    "added on": _("Added on {date}"),
    "remove: sure": _("Remove {name}?"),
    "remove: done": _("{name} has been removed."),
    "enrolment over": _("That took too long. Please log in again."),
    "rule: optional": _("Everybody may set one up; nobody has to."),
    "rule: required": _("Everybody needs one beside the password."),
    "require: sure": _("Require a second factor of everybody?"),
    "require: then": _(
        "Whoever has none is signed out at once, and sets one up at the next log-in."
    ),
    "reset factors: sure": _("Reset the second factors of {name}?"),
    "reset factors: then": _(
        "Apps, passkeys and recovery codes are removed, and {name} is signed out. Make sure that "
        "it is really {name} who asks."
    ),
    "reset factors: done": _("{name} has no second factor any more."),
    # People
    "admin": _("Admin"),
    "member": _("Member"),
    "active": _("Active"),
    "deactivated": _("Deactivated"),
    "pending": _("Pending"),
    "expired": _("Expired"),
    "open until": _("Works until {date}"),
    "expired on": _("Expired on {date}"),
    "actions": _("Actions for {name}"),
    "last used on": _("Last used on {date}"),
    "end access: sure": _("Let {name} act for you no longer?"),
    "end access: then": _("Its access ends at once. You can connect it again."),
    "end access: done": _("{name} acts for you no longer."),
    "invited": _("The invitation to {email} is on its way."),
    "make admin: sure": _("Make {name} an admin?"),
    "make admin: then": _("Admins invite people, change roles and deactivate accounts."),
    "make admin: done": _("{name} is an admin now."),
    "make member: sure": _("Make {name} a member?"),
    "make member: then": _("{name} will no longer see this page."),
    "make member: sure, yourself": _("Give up your own admin role?"),
    "make member: then, yourself": _(
        "You will no longer see this page. Only another admin can give the role back to you."
    ),
    "make member: done": _("{name} is a member now."),
    "deactivate: sure": _("Deactivate {name}?"),
    "deactivate: then": _("{name} is signed out at once and cannot log in until reactivated."),
    "deactivate: sure, yourself": _("Deactivate yourself?"),
    "deactivate: then, yourself": _(
        "You are signed out at once. Only another admin can reactivate you."
    ),
    "deactivate: done": _("{name} has been deactivated."),
    "activate: done": _("{name} can log in again."),
    "last signed in on": _("Last signed in on {date}"),
    "mail password: done": _("A link to a new password is on its way to {email}."),
    "sign out: sure": _("Sign {name} out?"),
    "sign out: then": _("Every session of {name} ends at once, assistants' too."),
    "sign out: done": _("{name} is signed out."),
    "resend: done": _("The invitation to {email} has been sent again."),
    "revoke: sure": _("Revoke the invitation to {email}?"),
    "revoke: then": _("The link in the mail stops working."),
    "revoke: done": _("The invitation to {email} has been revoked."),
    # What has happened
    "signup.completed": _("Signed up"),
    "login.succeeded": _("Logged in"),
    "logout.everywhere": _("Signed out everywhere"),
    "profile.changed": _("Profile changed"),
    "password.changed": _("New password set"),
    "password.link": _("Password link requested"),
    "invitation.created": _("Invited"),
    "invitation.resent": _("Invitation sent again"),
    "invitation.revoked": _("Invitation revoked"),
    "invitation.accepted": _("Invitation accepted"),
    "user.role": _("Role changed"),
    "user.deactivated": _("Deactivated"),
    "user.activated": _("Reactivated"),
    "assistant.let_in": _("Assistant let in"),
    "assistant.ended": _("Assistant's access ended"),
    "assistant.elsewhere": _("An assistant's token came from two addresses"),
    "company.created": _("Company created"),
    "admin.added": _("Added by operators"),
    "admin.changed": _("Changed by operators"),
    "admin.deleted": _("Deleted by operators"),
    "email.link": _("Another e-mail address asked for"),
    "email.changed": _("E-mail address changed"),
    "email.undone": _("Change of the e-mail address undone"),
    "factor.added": _("Second factor added"),
    "factor.renamed": _("Second factor renamed"),
    "factor.removed": _("Second factor removed"),
    "factor.reset": _("Second factors reset"),
    "factor.codes": _("Recovery codes made"),
    "factor.code_used": _("Recovery code used"),
    "factor.count": _("The count of a passkey went back"),
    "lock.mailed": _("Unlocked by mail"),
    "lock.cleared": _("Unlocked by operators"),
    "device.known": _("Device made known"),
    "company.changed": _("Company changed"),
    "person.exported": _("Data exported"),
    "person.erased": _("Person erased"),
    "mail.retried": _("Mail tried again"),
    "of person": _("Only {name}"),
    "invite again: done": _("The invitation to {email} is on its way."),
    "is invited": _("is invited."),
    "mail refused": _("The mail was refused: is the address right?"),
    "revoked": _("Revoked"),
    "email change asked": _("If the address can be used, a link is on its way to {email}."),
    "email changed": _("Your e-mail address is changed."),
    "email change undone": _("Your e-mail address is the old one again. Change your password now."),
    "log in with": _("From now on you log in with {email}."),
    # The API's own words
    "wrong password": _("The password is wrong."),
    "A name cannot hold a link.": _("A name cannot hold a link."),
    "This name is taken by the operators.": _("This name is taken by the operators."),
    "rate_limited": _("Too many requests just now. Try this one again in a minute."),
    "invalid request": _("Please check what you have entered."),
    "invalid or expired token": _("This link has been used, has expired or was replaced."),
    "wrong e-mail or password": _("The e-mail address or the password is wrong."),
    "not permitted for your role": _("Only admins can do this."),
    "e-mail already registered": _("This e-mail address is already registered."),
    "the last admin cannot be removed": _("A company needs at least one admin."),
    "already a member": _("This person is a member already."),
    "already invited": _("This person has been invited already."),
    "invitation is no longer open": _("This invitation is no longer open."),
    "too many mails to this address": _("This address has had many mails just now. Wait an hour."),
    "no more invitations today": _("That is all the invitations of today. Go on tomorrow."),
    "wrong code": _(
        "The code or the passkey was not accepted. A code works once: wait for the app's next one."
    ),
    "wrong passkey": _("The passkey was not accepted."),
    "too many factors": _("You have one app, or ten passkeys: that is as many as there can be."),
    "your company requires a second factor": _(
        "Your company requires a second factor: add another before you remove the last."
    ),
    "set up a second factor yourself first": _(
        "Set up a second factor for yourself first, on your account page."
    ),
    "not found": _("This is no longer there. Please begin again."),
    "NotAllowedError": _("No passkey was used."),  # WebAuthn's words, by which browsers say it
    "InvalidStateError": _("There is a passkey of yours on this device already."),
    "service unavailable": _("The service is unavailable. Please try again in a moment."),
    "internal error": _("Something went wrong on our side. Please try again."),
    "Enter a valid email address.": _("Enter a valid e-mail address."),
    "This field is required.": _("This field is required."),
    "This field may not be blank.": _("This field may not be blank."),
    "Control characters are not allowed.": _("Control characters are not allowed."),
    Common.message: _("This password is too common."),
    Personal.message: _(
        "This password is too close to your name, your e-mail address or a company's name."
    ),
    Breached.message: _("This password has appeared in a data breach. Choose another one."),
}

# What a company's trail may hold, in these words: what else is recorded is of no company.
EVENTS = [(kind, WORDS[kind]) for kind in Kind.values if kind in WORDS]


def in_language() -> dict[str, str]:
    """The words in the language that is active, with the length of a lock filled in: `{lock}`."""
    said = {key: str(text) for key, text in WORDS.items()}
    minutes = math.ceil(settings.LOCKOUT_SECONDS / 60)
    many = said["minutes"].replace("{count}", str(minutes))
    lock = said["a quarter"] if minutes == 15 else many
    return {key: text.replace("{lock}", lock) for key, text in said.items()}
