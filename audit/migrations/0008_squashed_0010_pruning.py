"""The trigger of the audit log, as 2.2 has it. A migration of its own, since the replaced ones depend
on those of `accounts`, and the other way round. They stay until 3.1, for databases of 2.1."""

from django.db import migrations

# Events change in one way: ids and names that belong to nobody any more become pseudonyms, those of
# companies with an id of version 5. None is deleted within 30 days: any role may set
# `audit.pruning`.
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
CREATE TRIGGER audit_record_guard BEFORE UPDATE OR DELETE ON audit_record
    FOR EACH ROW EXECUTE FUNCTION audit_record_guard();
CREATE TRIGGER audit_record_truncate BEFORE TRUNCATE ON audit_record
    FOR EACH STATEMENT EXECUTE FUNCTION audit_record_guard();
"""
# As deploy/rights.sql does: for roles to which default privileges have opened the table.
GRANT = """
DO $$
DECLARE role_ text;
BEGIN
    FOR role_ IN
        SELECT DISTINCT grantee FROM information_schema.table_privileges
        WHERE table_schema = 'public' AND table_name = 'audit_record'
            AND privilege_type = 'INSERT' AND grantee NOT IN ('PUBLIC', current_user)
    LOOP
        EXECUTE format('GRANT UPDATE (actor_id, actor_email, subject_id, subject, detail)
            ON public.audit_record TO %I', role_);
    END LOOP;
END
$$;
"""


def guard(apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute(GUARD, params=None)
        editor.execute(GRANT, params=None)


class Migration(migrations.Migration):

    replaces = [
        ('audit', '0008_sign_ins'),
        ('audit', '0009_names'),
        ('audit', '0010_pruning'),
    ]

    dependencies = [
        ('accounts', '0004_last_sign_in'),  # not the squashed one, which 2.1 has only in part
        ('audit', '0001_squashed_0007_former_addresses'),
    ]

    operations = [migrations.RunPython(guard, migrations.RunPython.noop)]
