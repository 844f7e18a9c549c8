-- AlterTable
ALTER TABLE "stored_files" ADD COLUMN     "staged_session_id" INTEGER,
ADD COLUMN     "staged_token_hash" BYTEA,
ADD COLUMN     "storage_key" TEXT;

-- AlterTable
ALTER TABLE "tasks" ADD COLUMN     "external_id" TEXT;

-- CreateTable
CREATE TABLE "deleted_tasks" (
    "id" INTEGER NOT NULL,
    "account_id" INTEGER NOT NULL,
    "table_id" INTEGER,
    "record_id" INTEGER,
    "creator_user_id" INTEGER NOT NULL,
    "assignee_user_id" INTEGER NOT NULL,
    "subscriber_ids" INTEGER[],
    "deleted_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "deleted_tasks_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "deleted_tasks_account_id_deleted_at_idx" ON "deleted_tasks"("account_id", "deleted_at");

-- CreateIndex
CREATE INDEX "deleted_tasks_table_id_record_id_idx" ON "deleted_tasks"("table_id", "record_id");

-- CreateIndex
CREATE INDEX "deleted_tasks_deleted_at_idx" ON "deleted_tasks"("deleted_at");

-- CreateIndex
CREATE UNIQUE INDEX "stored_files_staged_token_hash_key" ON "stored_files"("staged_token_hash");

-- CreateIndex
CREATE INDEX "stored_files_task_id_idx" ON "stored_files"("task_id");

-- CreateIndex
CREATE INDEX "tasks_account_id_updated_at_idx" ON "tasks"("account_id", "updated_at");

-- Most tasks have none, and pay nothing for it.
CREATE UNIQUE INDEX "tasks_external_id_key" ON "tasks" ("account_id", "external_id") WHERE "external_id" IS NOT NULL;
