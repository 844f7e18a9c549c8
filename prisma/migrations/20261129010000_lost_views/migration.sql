-- AlterTable
ALTER TABLE "field_conversions" ADD COLUMN     "lost_views" JSONB;
