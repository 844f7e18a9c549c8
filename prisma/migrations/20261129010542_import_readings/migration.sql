-- AlterTable
ALTER TABLE "record_imports" ADD COLUMN     "cut" JSONB,
ADD COLUMN     "filled" JSONB,
ADD COLUMN     "reading" JSONB;
