-- AlterTable
ALTER TABLE "events" ADD COLUMN     "change_id" BIGINT,
ADD COLUMN     "count" INTEGER,
ADD COLUMN     "fields" TEXT[],
ADD COLUMN     "user_id" INTEGER,
ADD COLUMN     "view_id" INTEGER;
