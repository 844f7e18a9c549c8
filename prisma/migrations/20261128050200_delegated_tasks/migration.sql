-- The open tasks that somebody has delegated, in the order of their due dates: pages and counts read it as they read tasks_due_of_assignee_idx for
-- assigned tasks. Writers of tasks wait while it is built, so an installation with millions of tasks may build it before (docs/operations.md).
CREATE INDEX IF NOT EXISTS "tasks_due_of_creator_idx" ON "tasks" ("creator_user_id", "due_date") INCLUDE ("due_time", "assignee_user_id", "space_id", "table_id")
  WHERE "status" = 'open';
