-- AlterTable
ALTER TABLE "fields" ADD COLUMN     "is_rounding" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "narrowing" JSONB;
