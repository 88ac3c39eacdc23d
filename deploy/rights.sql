-- What the service's role may do: run it as the owner of the tables, after the first `migrate` and
-- after every restore, and again when `check --deploy` warns of backoffice.W001.

GRANT USAGE ON SCHEMA public TO consulting_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO consulting_service;
-- A backup reads them.
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO consulting_service;

-- What later migrations add: default privileges are those of the role that makes a table.
ALTER DEFAULT PRIVILEGES FOR ROLE consulting IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO consulting_service;
ALTER DEFAULT PRIVILEGES FOR ROLE consulting IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO consulting_service;

-- The audit trail is added to and pruned, and never changed.
REVOKE UPDATE, TRUNCATE ON audit_record FROM consulting_service;
GRANT EXECUTE ON FUNCTION audit_pseudonymise(uuid, uuid, text, text[], uuid, text[]) TO consulting_service;
