-- AlterTable
ALTER TABLE "stored_files" ADD COLUMN     "sha256" BYTEA;
