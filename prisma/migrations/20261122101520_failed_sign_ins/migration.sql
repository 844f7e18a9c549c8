-- CreateTable
CREATE TABLE "failed_sign_ins" (
    "user_id" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL,
    "last_failed_at" TIMESTAMP(0) NOT NULL,

    CONSTRAINT "failed_sign_ins_pkey" PRIMARY KEY ("user_id")
);
