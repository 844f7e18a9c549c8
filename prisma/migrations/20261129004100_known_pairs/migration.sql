-- CreateTable
CREATE TABLE "known_pairs" (
    "id" BYTEA NOT NULL,
    "used_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "known_pairs_pkey" PRIMARY KEY ("id")
);
