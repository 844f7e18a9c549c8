-- AlterTable
ALTER TABLE "stored_files" ADD COLUMN     "detected_type" TEXT;
