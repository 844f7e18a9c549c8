-- Waits for those that are writing events. What they wrote stays before what is written from now on, and the previous version
-- reads the one and the other in the same order.
ALTER TABLE "events" ALTER COLUMN "xact_id" SET DEFAULT GREATEST(((pg_current_xact_id())::text)::bigint, (((pg_snapshot_xmax(pg_current_snapshot()))::text)::bigint - 1));
