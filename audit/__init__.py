"""The audit log: `audit.record(Kind.EMAIL_CHANGED, actor=user)` adds an event to it."""

from audit.recording import Subject, record, record_row

__all__ = ["Subject", "record", "record_row"]
