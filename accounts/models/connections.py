"""A function that the migration 0008_connections of releases 2.1 and 2.2 imports from here."""

from secrets import token_urlsafe as make_record_token

__all__ = ["make_record_token"]
