#!/bin/sh
# The service `rights` of compose.yaml: makes the role `consulting_service`, sets its password to the one in secrets/, and
# grants what rights.sql has. It may run again at any time.
set -eu
PGPASSWORD=$(cat /run/secrets/postgres_password)
export PGPASSWORD
# Without its password, which the list of processes would show.
owner=$(sed 's/:[^:@]*@/@/' /run/secrets/database_url)
exec psql "$owner" --no-psqlrc --quiet --set ON_ERROR_STOP=1 <<'SQL'
\set password `cat /run/secrets/service_password`
SELECT 'CREATE ROLE consulting_service LOGIN' WHERE to_regrole('consulting_service') IS NULL \gexec
ALTER ROLE consulting_service PASSWORD :'password';
GRANT pg_read_all_stats TO consulting_service;
\i /rights.sql
SQL
