-- With the id: which tasks are a user's own is then known from the index alone.
CREATE INDEX "tasks_assignee_user_id_status_id_idx" ON "tasks"("assignee_user_id", "status", "id");
CREATE INDEX "tasks_creator_user_id_status_id_idx" ON "tasks"("creator_user_id", "status", "id");
DROP INDEX "tasks_assignee_user_id_status_idx";
DROP INDEX "tasks_creator_user_id_status_idx";
