-- CreateTable
CREATE TABLE "email_suppressions" (
    "id" SERIAL NOT NULL,
    "account_id" INTEGER NOT NULL,
    "email" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "comment_id" INTEGER,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "email_suppressions_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "email_suppressions_account_id_created_at_idx" ON "email_suppressions"("account_id", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "email_suppressions_account_id_email_key" ON "email_suppressions"("account_id", "email");
