"""The audit log in the admin site: read, searched and exported, never changed."""

import pytest
from django.contrib.admin.utils import quote
from django.urls import reverse
from django.utils import timezone

import audit
from accounts.models import Consultant
from apikeys.models import ApiKey
from audit.models import AuditEvent, Kind
from base.caller import Caller
from invitations.models import Invitation
from keys.models import SigningKey
from mail.outbox import OutgoingMail

pytestmark = pytest.mark.django_db
LIST = "/admin/audit/record/"


def test_audit_events_can_be_seen_but_not_added_changed_or_deleted(operator, ada):
    audit.record(Kind.LOGIN_SUCCEEDED, actor=ada)
    record = AuditEvent.objects.get()

    assert operator.get(LIST).status_code == 200
    assert operator.get(f"{LIST}{record.pk}/change/").status_code == 200
    assert operator.post(f"{LIST}{record.pk}/change/", {"subject": "x"}).status_code == 403
    assert operator.get(f"{LIST}add/").status_code == 403
    assert operator.post(f"{LIST}{record.pk}/delete/").status_code == 403
    operator.post(LIST, {"action": "delete_selected", "_selected_action": [record.pk]})
    assert AuditEvent.objects.filter(pk=record.pk).exists()


def test_audit_log_is_filtered_by_kind_person_and_day(operator, ada, bob, time_machine):
    audit.record(Kind.LOGIN_SUCCEEDED, actor=ada, caller=Caller("203.0.113.7"))
    audit.record(Kind.LOGOUT_EVERYWHERE, actor=bob, caller=Caller("203.0.113.9"))
    today = AuditEvent.objects.first().at.date().isoformat()

    def shown(query):
        return list(operator.get(LIST + query).context["cl"].result_list)

    assert len(shown("?kind__exact=login.succeeded")) == 1
    assert [record.actor_email for record in shown("?q=BOB@")] == ["bob@example.com"]
    assert len(shown("?q=203.0.113.7")) == 1
    assert len(shown(f"?at__gte={today}T00:00Z")) == 2
    assert shown("?at__lt=2001-01-01T00:00Z") == []


def test_history_and_audit_log_find_old_and_new_names(operator, as_ada, ada):
    grace = Consultant.objects.create(account=ada.account, name="Grace")
    operator.post(f"/admin/accounts/consultant/{grace.pk}/change/", {"name": "Grace Hopper"})
    operator.post(f"/admin/accounts/account/{ada.account_id}/change/", {"name": "Engines"})
    as_ada.patch("/account", {"name": "Difference Engines"})
    audit.record(Kind.KEY_PUBLISHED, subject="rnB7oh7N")

    def count(url, **query):
        return operator.get(url, query, follow=True).context["cl"].result_count

    assert count(f"/admin/accounts/consultant/{grace.pk}/history/") == 1
    assert count(f"/admin/accounts/account/{ada.account_id}/history/") == 3
    assert [count(LIST, q=text) for text in ("Grace Hop", "Engines", "rnB7o")] == [1, 1, 1]


def test_history_finds_the_events_of_a_row(operator, ada, bob):
    invitation = Invitation.objects.invite(ada, "new@example.com")
    mail = OutgoingMail.objects.get()
    api_key, _ = ApiKey.objects.make(ada, "Payroll", ["users:read"])
    signing_key = SigningKey.objects.create(kid="a_b", signs_from=timezone.now())
    audit.record(Kind.KEY_PUBLISHED, subject=signing_key.kid)

    for row, kind in [
        (invitation, Kind.INVITATION_CREATED),
        (mail, Kind.INVITATION_CREATED),
        (api_key, Kind.API_KEY_MADE),
        (signing_key, Kind.KEY_PUBLISHED),
    ]:
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}_history"
        page = operator.get(reverse(name, args=[quote(row.pk)]), follow=True)
        assert kind in [event.kind for event in page.context["cl"].result_list], row


def test_export_of_the_audit_log_is_csv_without_formulas(operator):
    audit.record(Kind.LOGIN_FAILED, subject="=cmd()@example.com", reason="ü", admitted=False)
    audit.record(Kind.LOGIN_FAILED, subject="a;=1+1")
    audit.record(Kind.LOGIN_FAILED, subject="b\t=1+1")
    event_ids = [event.pk for event in AuditEvent.objects.all()]
    answer = operator.post(LIST, {"action": "export", "_selected_action": event_ids})
    lines = answer.content.decode("utf-8-sig").splitlines()

    assert answer.headers["Content-Type"] == "text/csv"
    assert answer.content.startswith(b"\xef\xbb\xbfat,")  # by which Excel knows UTF-8
    assert "'=cmd()@example.com" in lines[3]
    assert lines[3].endswith(',"{""reason"": ""ü"", ""admitted"": false}"')
    assert "a;'=1+1" in lines[2]
    assert "\t=1+1" not in lines[1]
    assert AuditEvent.objects.filter(kind="audit.exported").exists()
