-- AlterTable
ALTER TABLE "fields" ADD COLUMN     "version" INTEGER NOT NULL DEFAULT 1;
