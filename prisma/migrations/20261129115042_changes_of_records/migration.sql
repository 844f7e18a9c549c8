-- AlterTable
ALTER TABLE "tables" ADD COLUMN     "has_history" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "record_imports" ADD COLUMN     "change_id" BIGINT;

-- The ids of changes of records, of all tables.
CREATE SEQUENCE "change_ids";
