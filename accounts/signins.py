"""When people last signed in.

The trail has it, so that a log-in writes nothing more; what is pruned there leaves its last time
with the person.
"""

from datetime import datetime

from django.db.models import DateTimeField, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from audit.models import SIGN_INS, Record


def newest(records: QuerySet[Record]) -> Subquery:
    """Of users: the time of the newest of these records in which they act."""
    own = records.filter(actor_id=OuterRef("pk")).order_by("-at")
    return Subquery(own.values("at")[:1], output_field=DateTimeField(null=True))


def last_sign_in() -> Coalesce:
    """Of users: when they last signed in; None for those who never have."""
    return Coalesce(newest(Record.objects.sign_ins()), F("signed_in_at"))


def not_since(moment: datetime) -> Q:
    """Of users: that they have not signed in since then, or never."""
    since = Record.objects.sign_ins().filter(actor_id=OuterRef("pk"), at__gte=moment)
    return ~Q(Exists(since)) & (Q(signed_in_at=None) | Q(signed_in_at__lt=moment))


def keep(users: QuerySet, records: QuerySet[Record]) -> None:
    """Note on the users when they last signed in by these records, which are about to go."""
    sign_ins = records.filter(kind__in=SIGN_INS)
    last = newest(sign_ins)
    older = Q(signed_in_at=None) | Q(signed_in_at__lt=last)
    users.filter(older, pk__in=sign_ins.values("actor_id")).update(signed_in_at=last)
