-- The previous release calls this function in front of a write of which it is not sure. Without it the call fails with 42883, and that release looks
-- the caller up and writes again, so both run beside each other.
SELECT set_config('citus.enable_ddl_propagation', 'off', true);
DROP FUNCTION refuse_changed_access();
