"""Events change in one way: ids and names that belong to nobody any more become pseudonyms.

The trigger that keeps the log append-only checks it, for the tables' owner as for the service's
role. No function runs with the owner's rights any more.
"""

from django.db import migrations, models

GUARD = r"""
CREATE OR REPLACE FUNCTION public.audit_record_guard() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    pseudonym constant text := '^(erased-[0-9a-f]{16}|company [0-9a-f-]{36})$';
    naming constant text[] := '{old,new,undone,name,id}';  -- the parts of detail that name somebody
    same_actor boolean;
    same_subject boolean;
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('audit.pruning', true) = 'on' THEN
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
                AND NEW.subject ~ pseudonym AND OLD.subject !~ pseudonym
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
DROP FUNCTION public.audit_pseudonymise(uuid, uuid, text, text[], uuid, text[]);
"""
# As deploy/rights.sql does: for the roles that may write to the log already.
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
    dependencies = [("audit", "0004_erasure_search_path")]
    operations = [
        migrations.AddField(
            model_name="record",
            name="subject_id",
            field=models.UUIDField(null=True, verbose_name="whom or what (id)"),
        ),
        migrations.RunPython(guard, migrations.RunPython.noop),
        migrations.DeleteModel(name="RecordBudget"),
    ]
