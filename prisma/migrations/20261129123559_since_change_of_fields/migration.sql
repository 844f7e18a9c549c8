-- AlterTable
ALTER TABLE "fields" ADD COLUMN     "since_change" BIGINT NOT NULL DEFAULT 0;
