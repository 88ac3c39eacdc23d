"""The trigger lets go of no event younger than 30 days: any role may set `audit.pruning`. A name
that looks like a pseudonym is replaced if its id is none: those of pseudonyms have version 5.
"""

from django.db import migrations

GUARD = r"""
CREATE OR REPLACE FUNCTION public.audit_record_guard() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    pseudonym constant text := '^(erased-[0-9a-f]{16}|company [0-9a-f-]{36})$';
    naming constant text[] := '{old,new,undone,name,id}';  -- the parts of detail that name somebody
    same_actor boolean;
    same_subject boolean;
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('audit.pruning', true) = 'on'
        AND OLD.at < now() - interval '30 days'
    THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' THEN
        same_actor := (NEW.actor_id, NEW.actor_email)
            IS NOT DISTINCT FROM (OLD.actor_id, OLD.actor_email);
        same_subject := (NEW.subject_id, NEW.subject)
            IS NOT DISTINCT FROM (OLD.subject_id, OLD.subject);
        IF (NEW.id, NEW.kind, NEW.at, NEW.account_id,
                NEW.address, NEW.agent, NEW.request_id, NEW.shell_user)
            IS NOT DISTINCT FROM (OLD.id, OLD.kind, OLD.at, OLD.account_id,
                OLD.address, OLD.agent, OLD.request_id, OLD.shell_user)
            AND (same_actor OR OLD.actor_id IS NOT NULL AND NEW.actor_id IS NOT NULL
                AND NEW.actor_email ~ pseudonym AND OLD.actor_email !~ pseudonym
                AND NOT EXISTS (SELECT FROM public.accounts_user WHERE id = OLD.actor_id))
            AND (same_subject OR NEW.subject_id IS NOT NULL
                AND NEW.subject ~ pseudonym
                AND (OLD.subject !~ pseudonym OR substr(OLD.subject_id::text, 15, 1) <> '5')
                AND NOT EXISTS (SELECT FROM public.accounts_user
                    WHERE id = OLD.subject_id OR OLD.subject_id IS NULL AND email = OLD.subject)
                AND NOT EXISTS (SELECT FROM public.accounts_account WHERE id = OLD.subject_id))
            AND NEW.detail - naming = OLD.detail - naming
            AND (NEW.detail = OLD.detail OR NOT same_actor OR NOT same_subject
                OR OLD.account_id IS NOT NULL AND NOT EXISTS
                    (SELECT FROM public.accounts_account WHERE id = OLD.account_id))
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
"""


def guard(apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute(GUARD, params=None)


class Migration(migrations.Migration):
    dependencies = [("audit", "0009_names")]
    operations = [migrations.RunPython(guard, migrations.RunPython.noop)]
