-- Nodes of a Citus cluster do not get the function, which only the coordinator calls.
SELECT set_config('citus.enable_ddl_propagation', 'off', true);

-- For writes of records on a node (src/records/rows.ts): the coordinator calls it before it sends the statement to the node.
CREATE FUNCTION require_table_version(wanted_table int, wanted_version int) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM public.tables t WHERE t.id = wanted_table AND t.version = wanted_version AND t.deleted_at IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'The table does not have this version any more' USING ERRCODE = 'GP001';
  END IF;
  RETURN true;
END $$;
