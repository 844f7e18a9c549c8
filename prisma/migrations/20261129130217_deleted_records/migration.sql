-- CreateTable
CREATE TABLE "deleted_records" (
    "table_id" INTEGER NOT NULL,
    "record_id" INTEGER NOT NULL,
    "account_id" INTEGER NOT NULL,
    "deleted_at" TIMESTAMP(0) NOT NULL,
    "change_id" BIGINT NOT NULL,
    "user_id" INTEGER,
    "api_key_id" INTEGER,
    "title" TEXT,
    "version" INTEGER NOT NULL,
    "created_at" TIMESTAMP(0) NOT NULL,
    "created_by" INTEGER,
    "cells" JSONB NOT NULL,
    "has_files" BOOLEAN NOT NULL,

    CONSTRAINT "deleted_records_pkey" PRIMARY KEY ("table_id","record_id")
);

-- CreateTable
CREATE TABLE "deleted_rows" (
    "id" BIGSERIAL NOT NULL,
    "table_id" INTEGER NOT NULL,
    "record_id" INTEGER NOT NULL,
    "source" TEXT NOT NULL,
    "content" JSONB NOT NULL,

    CONSTRAINT "deleted_rows_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "deleted_records_table_id_deleted_at_record_id_idx" ON "deleted_records"("table_id", "deleted_at", "record_id");

-- CreateIndex
CREATE INDEX "deleted_records_deleted_at_idx" ON "deleted_records"("deleted_at");

-- CreateIndex
CREATE INDEX "deleted_rows_table_id_record_id_idx" ON "deleted_rows"("table_id", "record_id");

-- CreateIndex
CREATE INDEX "notifications_table_id_record_id_idx" ON "notifications"("table_id", "record_id");

-- What is looked for among the rows of deleted records: the addresses of replies, the verdicts of a message, and a task with its files.
CREATE INDEX "deleted_rows_reply_tokens_idx" ON "deleted_rows" (("content" ->> 'token_hash')) WHERE "source" = 'reply_tokens';
CREATE INDEX "deleted_rows_verdicts_idx" ON "deleted_rows" ((("content" ->> 'inbound_email_id')::int)) WHERE "source" = 'inbound_verdicts';
CREATE INDEX "deleted_rows_tasks_idx" ON "deleted_rows" ((("content" ->> 'id')::int)) WHERE "source" = 'tasks';
