-- CreateTable
CREATE TABLE "bulk_changes" (
    "id" INTEGER NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "change_id" BIGINT NOT NULL,
    "conditions" JSONB,
    "data" JSONB,
    "record_ids" INTEGER[],
    "user_id" INTEGER,
    "api_key_id" INTEGER,
    "ip" TEXT,
    "time_zone" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'running',
    "done" INTEGER NOT NULL DEFAULT 0,
    "total" INTEGER NOT NULL,
    "changed" INTEGER NOT NULL DEFAULT 0,
    "skipped" INTEGER NOT NULL DEFAULT 0,
    "skips" JSONB NOT NULL DEFAULT '[]',
    "error" TEXT,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMP(0) NOT NULL,
    "updated_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "bulk_changes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "bulk_changes_space_id_idx" ON "bulk_changes"("space_id");

-- CreateIndex
CREATE INDEX "bulk_changes_account_id_state_idx" ON "bulk_changes"("account_id", "state");

-- AddForeignKey
ALTER TABLE "bulk_changes" ADD CONSTRAINT "bulk_changes_space_id_fkey" FOREIGN KEY ("space_id") REFERENCES "spaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;
