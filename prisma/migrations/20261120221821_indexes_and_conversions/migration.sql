-- CreateTable
CREATE TABLE "field_conversions" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "field_id" TEXT NOT NULL,
    "target" JSONB NOT NULL,
    "user_id" INTEGER,
    "time_zone" TEXT NOT NULL,
    "drop_failing" BOOLEAN NOT NULL,
    "force" BOOLEAN NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'queued',
    "done" INTEGER NOT NULL DEFAULT 0,
    "total" INTEGER NOT NULL,
    "last_id" INTEGER NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "error" TEXT,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "field_conversions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "index_failures" (
    "table_id" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "error" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL,
    "failed_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "index_failures_pkey" PRIMARY KEY ("table_id","name")
);

-- CreateTable
CREATE TABLE "index_uses" (
    "table_id" INTEGER NOT NULL,
    "shape" TEXT NOT NULL,
    "hits" INTEGER NOT NULL,
    "first_at" TIMESTAMP(0) NOT NULL,
    "last_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "index_uses_pkey" PRIMARY KEY ("table_id","shape")
);

-- AddForeignKey
ALTER TABLE "field_conversions" ADD CONSTRAINT "field_conversions_table_id_fkey" FOREIGN KEY ("table_id") REFERENCES "tables"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "index_failures" ADD CONSTRAINT "index_failures_table_id_fkey" FOREIGN KEY ("table_id") REFERENCES "tables"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "index_uses" ADD CONSTRAINT "index_uses_table_id_fkey" FOREIGN KEY ("table_id") REFERENCES "tables"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- One conversion of a table at a time: each rewrites every record.
CREATE UNIQUE INDEX "field_conversions_one_per_table" ON "field_conversions" ("table_id") WHERE "state" IN ('queued', 'running');
ALTER TABLE "field_conversions" ADD CONSTRAINT "field_conversions_state_check" CHECK ("state" IN ('queued', 'running', 'done', 'failed'));
