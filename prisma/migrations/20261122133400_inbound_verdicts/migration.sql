-- AlterTable
ALTER TABLE "inbound_emails" ADD COLUMN     "duplicate_of" INTEGER,
ADD COLUMN     "from_email" TEXT,
ADD COLUMN     "from_name" TEXT,
ADD COLUMN     "subject" TEXT,
ALTER COLUMN "raw" DROP NOT NULL,
ALTER COLUMN "sha256" DROP NOT NULL;

-- AlterTable
ALTER TABLE "inbound_deliveries" ADD COLUMN     "inbound_email_id" INTEGER;

-- CreateTable
CREATE TABLE "inbound_verdicts" (
    "inbound_email_id" INTEGER NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "account_id" INTEGER NOT NULL,
    "space_id" INTEGER NOT NULL,
    "table_id" INTEGER NOT NULL,
    "verdict" TEXT,
    "reason" TEXT,
    "comment_id" INTEGER,
    "is_announced" BOOLEAN NOT NULL DEFAULT false,
    "decided_at" TIMESTAMP(0),

    CONSTRAINT "inbound_verdicts_pkey" PRIMARY KEY ("inbound_email_id","token_hash")
);

-- CreateIndex
CREATE INDEX "inbound_verdicts_account_id_inbound_email_id_idx" ON "inbound_verdicts"("account_id", "inbound_email_id");

-- CreateIndex
CREATE INDEX "inbound_verdicts_token_hash_idx" ON "inbound_verdicts"("token_hash");

-- The messages that are still to be read.
CREATE INDEX "inbound_verdicts_pending_idx" ON "inbound_verdicts"("inbound_email_id") WHERE verdict IS NULL;
