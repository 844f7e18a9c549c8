-- Nodes of a Citus cluster do not get the function, which only the coordinator calls.
SELECT set_config('citus.enable_ddl_propagation', 'off', true);

-- Since PostgreSQL 18, AT TIME ZONE 'UTC' first looks for the name in the zone of the session, which SET TIME ZONE 'UTC-167' puts a week ahead.
-- A fixed time zone keeps such a session from deleting rows a week early.
CREATE OR REPLACE FUNCTION refuse_early_audit_deletion() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog SET TimeZone = 'UTC' AS $$
BEGIN
  IF OLD.keep_until > localtimestamp THEN
    RAISE EXCEPTION 'The audit log keeps this row until %', OLD.keep_until USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN OLD;
END $$;
