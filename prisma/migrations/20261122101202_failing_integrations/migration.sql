-- AlterTable
ALTER TABLE "smtp_integrations" ADD COLUMN     "failing_message" TEXT,
ADD COLUMN     "failing_since" TIMESTAMP(0),
ADD COLUMN     "faults" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "paused_until" TIMESTAMP(3);
