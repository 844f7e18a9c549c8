-- AlterTable
ALTER TABLE "views" ADD COLUMN     "sorting" JSONB;
