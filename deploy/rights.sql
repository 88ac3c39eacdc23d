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

-- The audit log is added to and pruned. What may change is who and whom, once a user is erased: the
-- table's trigger lets pseudonyms alone take the place of those who are gone.
REVOKE UPDATE, TRUNCATE ON audit_record FROM consulting_service;
GRANT UPDATE (actor_id, actor_email, subject_id, subject, detail) ON audit_record
    TO consulting_service;
