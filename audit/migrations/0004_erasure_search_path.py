"""Pin the search path of the function that pseudonymises, and close it to PUBLIC.

As SECURITY DEFINER with the search path of `migrate`, it looked for `audit_record` among the
caller's temporary tables first, and ran their triggers as the owner: any role that could log in to
the database became the owner of every table.
"""

from django.db import migrations

FUNCTION = "public.audit_pseudonymise(uuid, uuid, text, text[], uuid, text[])"
PIN = f"""
ALTER FUNCTION {FUNCTION} SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION public.audit_record_guard() SET search_path = pg_catalog, public, pg_temp;
REVOKE EXECUTE ON FUNCTION {FUNCTION} FROM PUBLIC;
"""
# Roles that may write to the log keep the right to erase.
GRANT = f"""
DO $$
DECLARE role_ text;
BEGIN
    FOR role_ IN
        SELECT DISTINCT grantee FROM information_schema.table_privileges
        WHERE table_schema = 'public' AND table_name = 'audit_record'
            AND privilege_type = 'INSERT' AND grantee <> 'PUBLIC'
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION {FUNCTION} TO %I', role_);
    END LOOP;
END
$$;
"""


def repair(apps, editor):
    if editor.connection.vendor == "postgresql":
        editor.execute(PIN, params=None)
        editor.execute(GRANT, params=None)


class Migration(migrations.Migration):
    dependencies = [("audit", "0003_erasure")]
    operations = [migrations.RunPython(repair, migrations.RunPython.noop)]
