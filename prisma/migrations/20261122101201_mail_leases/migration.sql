-- AlterTable
ALTER TABLE "outbound_emails" ADD COLUMN     "due_at" TIMESTAMP(0),
ADD COLUMN     "lease" INTEGER,
ADD COLUMN     "leased_until" TIMESTAMP(3),
ADD COLUMN     "traceparent" TEXT;

-- AlterTable
ALTER TABLE "smtp_integrations" ADD COLUMN     "max_connections" INTEGER NOT NULL DEFAULT 3,
ADD COLUMN     "rate_at" TIMESTAMP(3),
ADD COLUMN     "rate_per_minute" INTEGER;

-- The mails that wait, of each integration in the order in which they are sent; and those that are being sent.
CREATE INDEX "outbound_emails_due_idx" ON "outbound_emails" ("smtp_integration_id", "due_at", "comment_id") WHERE "due_at" IS NOT NULL;
CREATE INDEX "outbound_emails_leased_idx" ON "outbound_emails" ("leased_until") WHERE "leased_until" IS NOT NULL;
