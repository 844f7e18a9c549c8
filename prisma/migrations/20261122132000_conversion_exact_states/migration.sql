-- AlterTable
ALTER TABLE "field_conversions" ADD COLUMN     "checked_at" TIMESTAMP(0),
ADD COLUMN     "exact_state" TEXT;

-- The previous release answers 500 for a state that it does not know. It resumes what was not updated for ten minutes, but cannot check cells.
UPDATE "field_conversions" SET "exact_state" = "state",
  "state" = CASE "state" WHEN 'checking' THEN 'queued' ELSE 'failed' END,
  "checked_at" = CASE "state" WHEN 'checking' THEN "updated_at" END,
  "updated_at" = CASE "state" WHEN 'checking' THEN 'infinity' ELSE "updated_at" END
WHERE "state" IN ('checking', 'refused', 'cancelled');
ALTER TABLE "field_conversions" DROP CONSTRAINT "field_conversions_state_check";
ALTER TABLE "field_conversions" ADD CONSTRAINT "field_conversions_state_check" CHECK ("state" IN ('queued', 'running', 'done', 'failed'));
ALTER TABLE "field_conversions" ADD CONSTRAINT "field_conversions_exact_state_check" CHECK ("exact_state" IN ('checking', 'refused', 'cancelled'));
