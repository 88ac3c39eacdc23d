"""PostgreSQL itself keeps the trail append-only: no UPDATE, no TRUNCATE, and no DELETE but that of
pruning."""

from django.db import migrations

GUARD = """
CREATE FUNCTION audit_record_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('audit.pruning', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit trail is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER audit_record_guard BEFORE UPDATE OR DELETE ON audit_record
    FOR EACH ROW EXECUTE FUNCTION audit_record_guard();
CREATE TRIGGER audit_record_truncate BEFORE TRUNCATE ON audit_record
    FOR EACH STATEMENT EXECUTE FUNCTION audit_record_guard();
"""
UNGUARD = """
DROP TRIGGER audit_record_guard ON audit_record;
DROP TRIGGER audit_record_truncate ON audit_record;
DROP FUNCTION audit_record_guard();
"""


def on_postgresql(statements):
    def run(apps, editor):
        if editor.connection.vendor == "postgresql":
            editor.execute(statements, params=None)

    return run


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [migrations.RunPython(on_postgresql(GUARD), on_postgresql(UNGUARD))]
