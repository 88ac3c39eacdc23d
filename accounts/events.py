"""GET /audit: a company's audit log, for its admins."""

from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.generics import ListAPIView

from accounts.models import User
from api.fields import OneOfField
from api.openapi import JsonObject, example
from api.views import IsAdmin, ProtectedView, Scope
from audit.models import AuditEvent, Kind

# The groups by which GET /audit filters: each has the kinds with these first parts.
KIND_GROUPS = {
    "sign_in": ("signup", "login", "logout", "device", "lock"),
    "account": ("profile", "password", "email", "factor", "person"),
    "people": ("user", "invitation"),
    "company": ("company", "domain", "sso", "apikey", "admin", "mail"),
    "apps": ("assistant",),
}


class KindField(OneOfField):
    """A kind of event. The schema calls it a string, since releases to come will add kinds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(Kind.values, **options)
        extend_schema_field({"type": "string"})(self)  # type: ignore[type-var]


class EventFilterSerializer(serializers.Serializer):
    """The query of GET /audit, without its pages."""

    user_id = serializers.UUIDField(required=False, help_text="Events by or about this user.")
    kind = KindField(
        required=False, help_text="A kind of event; the error for an unknown one lists them all."
    )
    group = OneOfField(KIND_GROUPS, required=False, help_text="A group of kinds.")
    since = serializers.DateTimeField(
        source="at__gte", required=False, help_text="Events at or after this time (ISO 8601)."
    )
    until = serializers.DateTimeField(
        source="at__lt", required=False, help_text="Before this time."
    )


@example(
    {
        "at": "2026-03-02T08:45:00.500000Z",
        "kind": "user.role",
        "actor": "ada@example.com",
        "actor_name": "Ada Lovelace",
        "subject": "bob@example.com",
        "subject_name": "Bob Boole",
        "address": "203.0.113.7",
        "via": "mcp",
        "detail": {"role": "admin", "claims": {"client": "Claudia"}},
    }
)
class EventSerializer(serializers.ModelSerializer[AuditEvent]):
    """An event of the audit log."""

    kind = serializers.CharField(help_text="One of the filter's kinds, or a newer one.")
    actor = serializers.CharField(
        source="actor_email", help_text="The user who did it; else empty."
    )
    actor_name = serializers.CharField(help_text="The current name; empty if `actor` is.")
    subject = serializers.CharField(help_text="The user or thing it was done to.")
    subject_name = serializers.CharField(help_text="The user's name; else empty.")
    address = serializers.CharField(help_text="The client's address; an IPv6 one as its /64.")
    via = serializers.SerializerMethodField(
        help_text="`mcp` for an assistant, `scim` for a directory."
    )
    detail = serializers.SerializerMethodField()

    class Meta:
        model = AuditEvent
        fields = ["at", "kind", "actor", "actor_name", "subject", "subject_name"]
        fields += ["address", "via", "detail"]

    def get_via(self, event: AuditEvent) -> str | None:
        via: str | None = event.detail.get("via")
        return via

    def get_detail(self, event: AuditEvent) -> JsonObject:
        return {name: value for name, value in event.detail.items() if name != "via"}


@extend_schema_view(
    get=extend_schema(
        operation_id="listEvents",
        summary="List the company's events",
        description="The audit log, newest first. Of failed sign-ins it has only those at the "
        "company's provider: others belong to no user.",
        parameters=[EventFilterSerializer],
    )
)
class EventsView(ProtectedView, ListAPIView):
    permission_classes = [IsAdmin]
    key_scopes = {"GET": Scope.AUDIT_READ}
    serializer_class = EventSerializer

    def paginate_queryset(self, queryset: QuerySet) -> list[Any]:
        page = super().paginate_queryset(queryset) or []
        return self.request.user.redact_events(list(page), of_company=True)

    def get_queryset(self) -> QuerySet[AuditEvent]:
        """The events of the caller's company that match the query. `user_id` also finds events that
        name the user by an address alone."""
        filters = self.validated_query(EventFilterSerializer)
        company_id = self.request.user.account_id
        events = AuditEvent.objects.filter(account_id=company_id)
        if user_id := filters.pop("user_id", None):
            user = User.objects.filter(pk=user_id, account=company_id).first()
            emails = user.current_and_former_emails() if user else []
            about_user = Q(subject_id=user_id) | Q(subject_id=None, subject__in=emails)
            events = events.filter(Q(actor_id=user_id) | about_user)
        if group := filters.pop("group", None):
            kinds = [kind for kind in Kind.values if kind.split(".")[0] in KIND_GROUPS[group]]
            events = events.filter(kind__in=kinds)
        return events.filter(**filters)
