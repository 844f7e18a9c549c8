-- AlterTable
ALTER TABLE "fields" ADD COLUMN     "option_colors" JSONB;
