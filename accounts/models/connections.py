"""What the migrations of releases 2.1 and 2.2 import."""

from secrets import token_urlsafe as make_record_token

__all__ = ["make_record_token"]
