"""A person can be erased: their records are kept under a pseudonym, by one function alone."""

from django.db import migrations

GUARD = """
CREATE OR REPLACE FUNCTION audit_record_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('audit.pruning', true) = 'on' THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND current_setting('audit.erasing', true) = 'on' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'the audit trail is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
"""
# The service's own role may not UPDATE the trail: the function does it with its owner's rights, for
# whoever may write to the trail. It changes who and whom, and neither what nor when.
PSEUDONYMISE = """
CREATE FUNCTION audit_pseudonymise(
    person uuid, alias uuid, pseudonym text, said text[], company uuid, names text[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    row_ audit_record%ROWTYPE;
    gone text[];
    value_ text;
BEGIN
    IF NOT has_table_privilege(session_user, 'audit_record', 'INSERT') THEN
        RAISE EXCEPTION 'not permitted' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('audit.erasing', 'on', true);
    FOR row_ IN SELECT * FROM audit_record WHERE actor_id = person OR subject = ANY (said || names)
        OR actor_email = ANY (said)
        OR EXISTS (SELECT FROM unnest(said || names) value WHERE
            position(to_jsonb(value)::text IN detail::text) > 0)
    LOOP
        gone := said || CASE WHEN row_.account_id = company THEN names ELSE '{}'::text[] END;
        IF row_.actor_id = person THEN row_.actor_id := alias; END IF;
        IF row_.actor_email = ANY (gone) THEN row_.actor_email := pseudonym; END IF;
        IF row_.subject = ANY (gone) THEN row_.subject := pseudonym; END IF;
        FOREACH value_ IN ARRAY gone LOOP
            row_.detail := replace(
                row_.detail::text, to_jsonb(value_)::text, to_jsonb(pseudonym)::text
            )::jsonb;
        END LOOP;
        UPDATE audit_record SET actor_id = row_.actor_id, actor_email = row_.actor_email,
            subject = row_.subject, detail = row_.detail WHERE id = row_.id;
    END LOOP;
    PERFORM set_config('audit.erasing', '', true);
END
$$;
"""


def on_postgresql(*statements):
    def run(apps, editor):
        if editor.connection.vendor == "postgresql":
            for statement in statements:
                editor.execute(statement, params=None)

    return run


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_sign_ins")]
    operations = [
        migrations.RunPython(
            on_postgresql(GUARD, PSEUDONYMISE),
            on_postgresql(
                "DROP FUNCTION audit_pseudonymise(uuid, uuid, text, text[], uuid, text[])"
            ),
        ),
    ]
