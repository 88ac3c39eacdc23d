"""What the pages' script says, by the key it looks up: its own words, and the API's errors."""

from django.utils.translation import gettext_lazy as _

WORDS = {
    "wait": _("Too many attempts. Please wait {seconds} seconds, then try again."),
    "waiting": _("Wait {seconds} s"),
    "try again": _("Try again"),
    "unreachable": _("The service cannot be reached. Please try again in a moment."),
    "saved": _("Saved."),
    "signed out": _("You are signed out."),
    "invited": _("The invitation is on its way."),
    "resent": _("The invitation has been sent again."),
    "revoked": _("The invitation has been revoked."),
    "role changed": _("The role has been changed."),
    "no link": _("This page needs the link from your e-mail. Please open that link again."),
    "admin": _("Admin"),
    "member": _("Member"),
    "pending": _("Pending"),
    "accepted": _("Accepted"),
    "expired": _("Expired"),
    # The API's own words
    "invalid request": _("Please check what you have entered."),
    "invalid or expired token": _("This link is no longer valid. Please ask for a new one."),
    "wrong e-mail or password": _("The e-mail address or the password is wrong."),
    "not permitted for your role": _("Only admins can do this."),
    "e-mail already registered": _("This e-mail address is already registered."),
    "the last admin cannot be removed": _("A company needs at least one admin."),
    "already a member": _("This person is a member already."),
    "already invited": _("This person has been invited already."),
    "invitation is no longer open": _("This invitation is no longer open."),
    "service unavailable": _("The service is unavailable. Please try again in a moment."),
    "internal error": _("Something went wrong on our side. Please try again."),
    "Enter a valid email address.": _("Enter a valid e-mail address."),
    "This field is required.": _("This field is required."),
    "This field may not be blank.": _("This field may not be blank."),
    "Control characters are not allowed.": _("Control characters are not allowed."),
    "This password is too common.": _("This password is too common."),
}
