"""What other apps have to hear of at once, in the transaction in which it happens."""

from django.dispatch import Signal

# `user` may invite nobody any more; `actor` has seen to it (None: a command). Receivers end what
# the user has sent that is still open, and return the e-mail addresses that it was sent to.
stopped_inviting = Signal()
