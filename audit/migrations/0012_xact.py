"""The transaction that wrote an event, by which GET /events (apikeys.feed) orders them.

Added without a default and given one afterwards, which rewrites no row: events from before have
none. Hosts of the release before fill it, since the database does. It is no field of the model.
"""

from django.db import migrations

ADD = """
ALTER TABLE audit_record ADD COLUMN xact xid8;
ALTER TABLE audit_record ALTER COLUMN xact SET DEFAULT pg_current_xact_id();
CREATE FUNCTION public.audit_record_keep_xact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER audit_record_xact BEFORE UPDATE OF xact ON audit_record
    FOR EACH ROW EXECUTE FUNCTION public.audit_record_keep_xact();
"""
REMOVE = """
DROP TRIGGER audit_record_xact ON audit_record;
DROP FUNCTION public.audit_record_keep_xact();
ALTER TABLE audit_record DROP COLUMN xact;
"""


def on_postgresql(statements):
    def run(apps, editor):
        if editor.connection.vendor == "postgresql":
            editor.execute(statements, params=None)

    return run


class Migration(migrations.Migration):
    dependencies = [("audit", "0011_audit_events")]
    operations = [migrations.RunPython(on_postgresql(ADD), on_postgresql(REMOVE))]
