-- AlterTable
ALTER TABLE "outbound_emails" ADD COLUMN     "tokens_encrypted" BYTEA NOT NULL;
