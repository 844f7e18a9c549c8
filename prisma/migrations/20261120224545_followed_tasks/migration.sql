-- The tasks that a user follows, from the index alone.
CREATE INDEX "task_subscribers_user_id_task_id_idx" ON "task_subscribers"("user_id", "task_id");
DROP INDEX "task_subscribers_user_id_idx";
