"""What several tests of throttling share."""

from throttling.models import Lockout

ADA = "ada@example.com"


def fail(times, email=ADA):
    return [Lockout.objects.record_failure(email) for _ in range(times)]
