-- AlterTable
ALTER TABLE "fields" ADD COLUMN     "removed_options" INTEGER[] DEFAULT ARRAY[]::INTEGER[];
