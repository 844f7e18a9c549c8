-- Nodes of a Citus cluster do not get the function, which only the coordinator calls.
SELECT set_config('citus.enable_ddl_propagation', 'off', true);

-- For writes that are sent before the access of their caller is known to be what it was (src/platform/database/presumption.ts): called in front of the
-- write when it is not, it lets the transaction fail.
CREATE FUNCTION refuse_changed_access() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'The access has changed' USING ERRCODE = 'GP002';
END $$;
