-- CreateTable
CREATE TABLE "events" (
    "id" BIGSERIAL NOT NULL,
    "xact_id" BIGINT NOT NULL DEFAULT ((pg_current_xact_id())::text)::bigint,
    "type" TEXT NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER,
    "table_id" INTEGER,
    "record_id" INTEGER,
    "task_id" INTEGER,
    "comment_id" INTEGER,
    "audience" INTEGER[],
    "at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "events_xact_id_id_idx" ON "events"("xact_id", "id");
