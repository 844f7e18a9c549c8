-- With the id: the changes of one second, of which an import makes thousands, are then in order, too.
CREATE INDEX "tasks_account_id_updated_at_id_idx" ON "tasks"("account_id", "updated_at", "id");
DROP INDEX "tasks_account_id_updated_at_idx";
