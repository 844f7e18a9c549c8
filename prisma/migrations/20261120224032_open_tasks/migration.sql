-- An index on the creator alone would read every task that they have ever given to others, to find the open ones.
CREATE INDEX "tasks_creator_user_id_status_idx" ON "tasks"("creator_user_id", "status");
DROP INDEX "tasks_creator_user_id_idx";

-- What a badge counts is read from the index alone: how many of a user's open tasks are due, where they can still see them.
CREATE INDEX "tasks_due_of_assignee_idx" ON "tasks" ("assignee_user_id", "due_date") INCLUDE ("due_time", "space_id", "table_id")
  WHERE "status" = 'open';
