"""Texts of the pages' script, by key: its own, and those for the API's errors."""

import math

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.passwords import Breached, Common, Personal

WORDS = {
    # Fits limits and lockouts alike. <a> becomes a link to a new password.
    "too many attempts": _(
        "Too many attempts: wait {seconds} seconds, or {lock} minutes if locked. "
        "<a>Reset your password</a>"
    ),
    "too many attempts: link": _(
        "Too many attempts: wait {seconds} seconds, or {lock} minutes if locked. "
        "Your link still works."
    ),
    "goes on in": _(
        "Too many requests at once. Keep this page open: it continues automatically in {seconds} "
        "seconds."
    ),
    "goes on by itself: long": _(
        "Too many attempts. This continues within {lock} minutes. Or use a passkey now."
    ),
    "log in": _("Sign in"),
    "new password": _("Reset your password"),
    "signed in as somebody else": _(
        "You're signed in as {email}. If you continue, you'll be signed out of that account."
    ),
    "busy": _("One moment…"),
    "try again": _("Try again"),
    "unreachable": _("We can't reach the service. Try again in a moment."),
    "unlocked": _("You can sign in again."),
    "saved": _("Saved."),
    "signed out": _("You're signed out."),
    "ended": _("Your session has ended. Sign in again."),
    "keep language": _("This browser now shows {language}."),
    "keep language: yes": _("Also use for my account and e-mails"),
    "welcome": _("Welcome! You're signed in."),
    "password changed": _("Password changed."),
    "your role has changed": _("Your role was changed."),
    "sent again": _("Sent again."),
    "resend": _("Resend"),
    "resend in": _("Resend (0:{seconds})"),
    "no link": _("Open the link in your e-mail again to use this page."),
    "join": _("Join {company}"),
    "joined": _("You've joined {company}"),
    "too short": _("At least {count} characters."),
    "more characters": _("{count} more needed"),
    "long enough": _("Long enough"),
    "sign out everywhere: sure": _("Sign out everywhere?"),
    "sign out everywhere: then": _(
        "You'll need to sign in again on every device, including this one."
    ),
    # Second factors
    "totp": _("Authenticator app"),
    "totp: label": _("Authentication code"),
    "totp: hint": _("Enter the 6-digit code from your authenticator app."),
    "passkey": _("Passkey"),
    "recovery_code: label": _("Recovery code"),
    "recovery_code: hint": _("Enter one of your saved recovery codes. Each works once."),
    "qr": _("QR code for the authenticator app"),
    "copied": _("Copied."),
    "codes left": _("Recovery codes left: {count}"),
    "protected: yes": _("Your account is well protected."),
    "protected: codes": _("Recovery codes left: {count}. Create new ones."),
    "protected: no": _(
        "Only your password protects your account. Add a passkey or an authenticator app."
    ),
    "added on": _("Added on {date}"),
    "remove: sure": _("Remove {name}?"),
    "remove: done": _("{name} was removed."),
    "enrolment over": _("That took too long. Sign in again."),
    "rule: optional": _("Two-factor authentication is optional."),
    "rule: required": _("Two-factor authentication is required for everyone."),
    "require: sure": _("Require two-factor authentication for everyone?"),
    "require: then": _(
        "People without it are signed out now and asked to set it up when they next sign in."
    ),
    "reset factors: sure": _("Reset two-factor authentication for {name}?"),
    "reset factors: then": _(
        "This removes all apps, passkeys and recovery codes and signs {name} out. Make sure "
        "it's really {name} who is asking."
    ),
    "reset factors: done": _("Two-factor authentication was reset for {name}."),
    # People
    "admin": _("Admin"),
    "member": _("Member"),
    "active": _("Active"),
    "deactivated": _("Deactivated"),
    "pending": _("Pending"),
    "expired": _("Expired"),
    "open until": _("Expires on {date}"),
    "expired on": _("Expired on {date}"),
    "actions": _("Actions for {name}"),
    "last used on": _("Last used on {date}"),
    "end access: sure": _("Disconnect {name}?"),
    "end access: then": _("Its access ends immediately. You can connect it again later."),
    "end access: done": _("{name} was disconnected."),
    "this device": _("This device"),
    "network": _("From the network {network}"),
    "unknown browser": _("Unknown browser"),
    "forget: sure": _("Remove {name}?"),
    "forget: then": _("At the next sign-in, it counts as a new device. No one is signed out."),
    "forget: done": _("{name} was removed."),
    "invited": _("Invitation sent to {email}."),
    "invited: several": _("{count} invitations sent."),
    "invited: one, refused": _("1 invitation sent. {refused} not sent:"),
    "invited: refused": _("{count} invitations sent. {refused} not sent:"),
    "select": _("Select {name}"),
    "selected": _("{count} selected"),
    "make admin: sure, several": _("Make {count} people admins?"),
    "make admin: then, several": _("Admins invite people, change roles and deactivate accounts."),
    "make admin: done, several": _("{count} people are now admins."),
    "make member: sure, several": _("Make {count} people members?"),
    "make member: then, several": _("They won't be able to open this page."),
    "make member: done, several": _("{count} people are now members."),
    "deactivate: sure, several": _("Deactivate {count} people?"),
    "deactivate: then, several": _(
        "They'll be signed out immediately and can't sign in until you reactivate them."
    ),
    "deactivate: done, several": _("{count} people were deactivated."),
    "resend: done, several": _("{count} invitations were sent again."),
    "revoke: sure, several": _("Revoke {count} invitations?"),
    "revoke: then, several": _("The links in the e-mails will stop working."),
    "revoke: done, several": _("{count} invitations were revoked."),
    "undo": _("Undo"),
    "undone": _("Undone."),
    "undone, several": _("Undone."),
    "several: failed": _("{count} done. Not done: {names}."),
    "range": _("{from} to {to} of {total}"),
    "nobody found": _("No people match your search."),
    "several found": _("{count} people match. Choose one."),
    "support": _("Support"),
    "via": _("(via {app})"),
    "new device": _("New device."),
    "make admin: sure": _("Make {name} an admin?"),
    "make admin: then": _("Admins invite people, change roles and deactivate accounts."),
    "make admin: done": _("{name} is now an admin."),
    "make member: sure": _("Make {name} a member?"),
    "make member: then": _("{name} won't be able to open this page."),
    "make member: sure, yourself": _("Give up your own admin role?"),
    "make member: then, yourself": _(
        "You won't be able to open this page. Only another admin can make you an admin again."
    ),
    "make member: done": _("{name} is now a member."),
    "deactivate: sure": _("Deactivate {name}?"),
    "deactivate: then": _(
        "{name} will be signed out immediately and can't sign in until you reactivate the account."
    ),
    "deactivate: sure, yourself": _("Deactivate your own account?"),
    "deactivate: then, yourself": _(
        "You'll be signed out immediately. Only another admin can reactivate your account."
    ),
    "deactivate: done": _("{name} was deactivated."),
    "activate: done": _("{name} can sign in again."),
    "never signed in": _("Never signed in"),
    "mail password: done": _("Password reset sent to {email}."),
    "sign out: sure": _("Sign out {name}?"),
    "sign out: then": _("{name} will be signed out on all devices and in all connected apps."),
    "sign out: done": _("{name} was signed out."),
    "resend: done": _("Invitation sent to {email} again."),
    "revoke: sure": _("Revoke the invitation to {email}?"),
    "revoke: then": _("The link in the e-mail will stop working."),
    "revoke: done": _("The invitation to {email} was revoked."),
    "invite again: done": _("Invitation sent to {email}."),
    "mail refused": _("The e-mail bounced. Check the address."),
    "revoked": _("Revoked"),
    "email change asked": _("If that address can be used, we've sent a link to {email}."),
    "email changed": _("Your e-mail address was changed."),
    "email change undone": _("Your previous e-mail address is back. Now choose a new password."),
    "log in with": _("You'll then sign in with {email} again."),
    "change account": _(
        "The account {account} will use {email} from now on. Confirm only if it's yours."
    ),
    "link of another user": _(
        "This link is for another account. Sign in to that account, then open the link again."
    ),
    "keep password: done": _("{name} can always sign in with a password."),
    "end password: done": _("{name} no longer keeps a password."),
    # Sign-in at the company's own provider
    "continue with": _("Continue with {company}"),
    "sso: expired": _(
        "This sign-in took too long, was used already or began in another browser. Start again."
    ),
    "sso: switched_off": _(
        "Your company's sign-in is switched off. Use your password, or ask an admin."
    ),
    "sso: denied": _(
        "Your company's provider didn't let you in, or you cancelled. Try again, or ask your IT "
        "support for access."
    ),
    "sso: provider": _(
        "Your company's provider isn't working as it should. Try again in a moment. If it keeps "
        "failing, tell an admin."
    ),
    "sso: unverified": _(
        "Your company's provider says your e-mail address isn't verified. Ask your IT support to "
        "verify it."
    ),
    "sso: domain": _(
        "The address you used there isn't your company's. Sign out there, then try again with your "
        "work account."
    ),
    "sso: account": _(
        "Your account can't be used: it's deactivated or belongs to another company. Ask an admin."
    ),
    "sso: not_invited": _("You don't have an account here yet. Ask an admin to invite you."),
    "sso: tested": _("The test succeeded. You can switch it on now."),
    "sso: none": _("Not set up"),
    "sso: step": _("Step {step} of 4"),
    "sso: active": _("On"),
    "sso: required": _("Required"),
    "sso: proved": _("Proved"),
    "sso: unproved": _("Not proved yet"),
    "sso: domain added": _("Domain added. Now create its TXT record."),
    "sso: domain proved": _("{name} is proved."),
    "sso: remove domain": _("Remove {name}?"),
    "sso: remove domain: then": _("People with an address there sign in with a password again."),
    "sso: provider saved": _("Provider saved. Now test it."),
    "sso: removed": _("Company sign-in was removed."),
    "sso: tested on": _("Last test: {date}"),
    "sso: last problem": _("Last problem: {problem} ({date})"),
    # The API's own words
    "TXT record not found": _(
        "The TXT record wasn't found. It can take an hour to appear: check again later."
    ),
    "domain already listed": _("This domain is already in your list."),
    "too many domains": _("You've reached the limit of 50 domains."),
    "another company has proved this domain": _("Another company has already proved this domain."),
    "test the connection first": _("Test the connection first."),
    "first choose an admin who keeps a password": _(
        "First let an admin keep a password: choose that in the admin's menu."
    ),
    "our support team has switched the connection off": _(
        "Our support team has switched company sign-in off. Contact them before you continue."
    ),
    "only for admins with a password and a second factor": _(
        "This admin needs a password and two-factor authentication first."
    ),
    "the last way back cannot be removed": _(
        "One admin must be able to sign in without the provider. Choose another one first."
    ),
    "sign in with your company's account": _(
        "Your company requires its own sign-in. Sign in there to accept the invitation."
    ),
    "your company manages your e-mail address": _("Your company manages your e-mail address."),
    "Enter a domain such as example.com.": _("Enter a domain such as example.com."),
    "Enter an https address on port 443.": _("Enter an https address on port 443."),
    "The provider has no public address.": _("The provider has no public address."),
    "The provider's certificate is invalid.": _("The provider's certificate is invalid."),
    "The provider calls itself by another name. Copy the issuer from its metadata.": _(
        "The provider calls itself by another name. Copy the issuer from its metadata."
    ),
    "The provider's metadata have addresses that may not be called.": _(
        "The provider's metadata have addresses that we can't call."
    ),
    "The provider has no usable keys.": _("The provider has no usable keys."),
    "Too many calls to the provider are running. Try again.": _(
        "The provider is busy. Try again in a moment."
    ),
    "No provider answers there. Check the address.": _(
        "No provider answers there. Check the address."
    ),
    "wrong password": _("Incorrect password."),
    "Names can't contain links.": _("Names can't contain links."),
    "This name is taken by the operators.": _("This name is reserved. Choose another."),
    "rate_limited": _("Too many requests. Try again in {seconds} seconds."),
    "invalid request": _("Check what you've entered."),
    "invalid or expired token": _(
        "This link is no longer valid. It may have expired or already been used."
    ),
    "wrong e-mail or password": _("Incorrect e-mail or password."),
    "not permitted for your role": _("Only admins can do this."),
    "e-mail already registered": _("This e-mail address is already registered."),
    "the last admin cannot be removed": _("A company needs at least one admin."),
    "already a member": _("This person is already a member."),
    "already invited": _("This person has already been invited."),
    "invitation is no longer open": _("This invitation is no longer open."),
    "too many mails to this address": _(
        "We've sent this address several e-mails already. Try again in an hour."
    ),
    "no more invitations today": _("You've reached today's invitation limit. Try again tomorrow."),
    "wrong_code": _("Wrong code. Enter the one shown now."),
    "used_code": _("That code was already used: wait for the next one."),
    "old_code": _("That code is too old: enter the current one."),
    "wrong_recovery_code": _("That recovery code isn't right, or was already used."),
    "wrong_passkey": _("That passkey wasn't accepted."),
    "wrong passkey": _("That passkey wasn't accepted."),
    "too many factors": _("You've reached the limit: one app and ten passkeys."),
    "your company requires a second factor": _(
        "Your company requires two-factor authentication. Add another method before you remove "
        "the last one."
    ),
    "set up a second factor yourself first": _(
        "Set up two-factor authentication for your own account first."
    ),
    "set up": _("Set it up now"),
    "not found": _("This no longer exists. Start again."),
    "NotAllowedError": _("No passkey was used."),  # a DOMException of WebAuthn
    "InvalidStateError": _("You already have a passkey on this device."),
    "service unavailable": _("The service is unavailable. Try again in a moment."),
    "internal error": _("Something went wrong on our side. Try again."),
    "Enter a valid email address.": _("Enter a valid e-mail address."),
    "This field is required.": _("This field is required."),
    "This field may not be blank.": _("This field can't be blank."),
    "Control characters are not allowed.": _("Control characters aren't allowed."),
    Common.message: _("This password is too easy to guess."),
    Personal.message: _(
        "This password is too close to your name, your e-mail address or a company's name."
    ),
    Breached.message: _("This password has appeared in a data breach. Choose another one."),
}


def in_language() -> dict[str, str]:
    """The texts in the active language, with the minutes of a lockout for `{lock}`."""
    minutes = str(math.ceil(settings.LOCKOUT_SECONDS / 60))
    return {key: str(text).replace("{lock}", minutes) for key, text in WORDS.items()}
