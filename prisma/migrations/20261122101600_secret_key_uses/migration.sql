-- CreateTable
CREATE TABLE "secret_key_uses" (
    "fingerprint" TEXT NOT NULL,
    "first_used_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMP(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "secret_key_uses_pkey" PRIMARY KEY ("fingerprint")
);
