"""The models of this app, where Django looks for them."""

from base.nonces import UsedNonce

__all__ = ["UsedNonce"]
