-- AlterTable
ALTER TABLE "views" ADD COLUMN     "conditions" JSONB;
