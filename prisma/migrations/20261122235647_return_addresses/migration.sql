-- AlterTable
ALTER TABLE "reply_tokens" ADD COLUMN     "recipient" TEXT;
