-- CreateTable
CREATE TABLE "address_changes" (
    "id" SERIAL NOT NULL,
    "user_id" INTEGER NOT NULL,
    "email" TEXT NOT NULL,
    "token_hash" BYTEA,
    "created_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMP(0) NOT NULL,
    "confirmed_at" TIMESTAMP(0),
    "former_email" TEXT,

    CONSTRAINT "address_changes_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "address_changes_token_hash_key" ON "address_changes"("token_hash");

-- CreateIndex
CREATE INDEX "address_changes_user_id_idx" ON "address_changes"("user_id");

-- AddForeignKey
ALTER TABLE "address_changes" ADD CONSTRAINT "address_changes_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
