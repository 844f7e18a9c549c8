-- A page of the open tasks that somebody has delegated is read in the order of the due dates, and all of them are counted, as it is for those that
-- somebody has by tasks_due_of_assignee_idx.
CREATE INDEX "tasks_due_of_creator_idx" ON "tasks" ("creator_user_id", "due_date") INCLUDE ("due_time", "assignee_user_id", "space_id", "table_id")
  WHERE "status" = 'open';
