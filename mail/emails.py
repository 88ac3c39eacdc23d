"""Migrations of 1.0.0 name the field here."""

from base.emails import CanonicalEmailField

__all__ = ["CanonicalEmailField"]
