-- AlterTable
ALTER TABLE "inbound_emails" ADD COLUMN     "authentication" JSONB;
