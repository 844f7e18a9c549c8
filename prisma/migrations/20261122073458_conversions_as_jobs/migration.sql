-- AlterTable
ALTER TABLE "field_conversions" ADD COLUMN     "converts" INTEGER,
ADD COLUMN     "dry_run" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "failing" INTEGER,
ADD COLUMN     "fails" JSONB;

-- Beside the previous release: it begins with `queued`, which both know, and leaves `checking` alone.
ALTER TABLE "field_conversions" DROP CONSTRAINT "field_conversions_state_check";
ALTER TABLE "field_conversions" ADD CONSTRAINT "field_conversions_state_check"
  CHECK ("state" IN ('queued', 'checking', 'running', 'done', 'refused', 'failed', 'cancelled'));

-- One conversion of a table at a time: each rewrites every record. Dry runs only read.
DROP INDEX "field_conversions_one_per_table";
CREATE UNIQUE INDEX "field_conversions_one_per_table" ON "field_conversions" ("table_id")
  WHERE "state" IN ('queued', 'checking', 'running') AND NOT "dry_run";
